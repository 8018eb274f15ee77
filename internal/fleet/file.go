package fleet

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/strict"
)

// File is a fleet.yaml: which machines there are, and what to measure on them.
type File struct {
	Name     string
	Campaign string        // a file, or a campaign that tare has; "": the fleet can only be shown
	Budget   time.Duration // of each machine's run; 0: as the campaign says
	Busy     int           // how many machines may measure at once; 0: all
	Results  string        // folder with a folder for each machine; a relative one is beside the file
	Config   string        // of ssh, its -F; "": its default
	Dir      string        // of tare's files on the machines; "": its default
	Temporal Temporal
	Machines []Member
}

// Temporal is how to reach Temporal, and the collector of run files.
type Temporal struct {
	Address   string // of Temporal, HOST:PORT; "": the fleet is measured over SSH
	Namespace string
	TLS       TLS
	APIKey    string // file with a key for Temporal; "": none
	Collector string // its address
	Token     string // file with its token
}

// TLS are files for encrypted connections.
type TLS struct {
	On         bool
	CA         string // certificates of authorities; "": the system's
	Cert, Key  string // of this client, for servers that ask for them
	ServerName string // in Temporal's certificate; "": that of the address
}

// Member is a machine of a fleet's file.
type Member struct {
	Name  string
	SSH   string // destination for ssh, as on its command line; "": Name, which ~/.ssh/config may explain
	Group string // "": machines of its type
}

var (
	text = strict.Verbatim("text", strict.Schema{"type": "string"}, func(s string) error {
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "-") {
			return fault.Campaignf("%s must not be blank or begin with -", strict.Quote(s))
		}
		return nil
	}, strict.Text, strict.Integer, strict.Float)

	memberKind = strict.OrNull(strict.Object("a machine", []strict.Key[Member]{
		strict.Field("ssh", "destination for ssh, such as root@10.0.0.11; by default the machine's name", text,
			func(m *Member) *string { return &m.SSH }),
		strict.Field("group", "machines that are pooled; by default those with the same CPU", text,
			func(m *Member) *string { return &m.Group }),
	}))

	tlsKind = strict.Then(strict.Object("TLS", []strict.Key[TLS]{
		strict.Field("ca", "file with the certificates of authorities; by default the system's", text,
			func(t *TLS) *string { return &t.CA }),
		strict.Field("cert", "file with the client's certificate", text, func(t *TLS) *string { return &t.Cert }),
		strict.Field("key", "file with the key of that", text, func(t *TLS) *string { return &t.Key }),
		strict.Field("server_name", "name in Temporal's certificate; by default that of the address", text,
			func(t *TLS) *string { return &t.ServerName }),
	}), func(r *strict.Reader, at strict.Node, t *TLS) {
		if t.On = true; (t.Cert == "") != (t.Key == "") {
			r.FailAt(at, "tls must have both cert and key, or none")
		}
	})

	temporalKind = strict.Object("Temporal", []strict.Key[Temporal]{
		strict.Required(strict.Field("address", "address and port of Temporal's frontend", text,
			func(t *Temporal) *string { return &t.Address })),
		strict.FieldOr("namespace", "namespace of Temporal's", text, func(t *Temporal) *string { return &t.Namespace },
			"default"),
		strict.Field("tls", "files for encrypted connections, to Temporal and to the collector", tlsKind,
			func(t *Temporal) *TLS { return &t.TLS }),
		strict.Field("api_key_file", "file with an API key for Temporal", text,
			func(t *Temporal) *string { return &t.APIKey }),
		strict.Required(strict.Field("collector", "address of tare fleet serve, such as https://collector:7234", text,
			func(t *Temporal) *string { return &t.Collector })),
		strict.Required(strict.Field("token_file", "file with the token of the collector", text,
			func(t *Temporal) *string { return &t.Token })),
	})

	fileKind = strict.Object("a fleet", []strict.Key[File]{
		strict.Required(strict.Field("name", "name of the fleet", strict.Name, func(f *File) *string { return &f.Name })),
		strict.Field("campaign", "campaign file, or name of a campaign that tare has", text,
			func(f *File) *string { return &f.Campaign }),
		strict.Field("budget", "longest time of the run on each machine", campaign.DurationKind,
			func(f *File) *time.Duration { return &f.Budget }),
		strict.Field("busy", "how many machines may measure at once; by default all", strict.Whole[int](1, maxMachines),
			func(f *File) *int { return &f.Busy }),
		strict.Field("results", "folder with a folder of run files for each machine; by default the fleet's name", text,
			func(f *File) *string { return &f.Results }),
		strict.Field("ssh_config", "configuration file of ssh; by default its own", text,
			func(f *File) *string { return &f.Config }),
		strict.Field("dir", "directory for tare's files on the machines", text,
			func(f *File) *string { return &f.Dir }),
		strict.Field("temporal", "measure with workflows of Temporal instead of over SSH", temporalKind,
			func(f *File) *Temporal { return &f.Temporal }),
		strict.Required(strict.Field("machines", "the machines, by name",
			strict.Named("machines", maxMachines, memberKind, func(m *Member) *string { return &m.Name }),
			func(f *File) *[]Member { return &f.Machines })),
	})
)

// maxMachines is the most that a fleet's file may have.
const maxMachines = 10_000

// Parse reads a fleet's file, whose path is for errors and for relative paths in it.
func Parse(path string, text []byte) (*File, error) {
	f, r, _ := strict.Read(path, text, fileKind)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if f.Dir != "" && !strings.HasPrefix(f.Dir, "/") {
		return nil, fault.Campaignf("%s: dir %s must be an absolute path on the machines", path, strict.Quote(f.Dir))
	}
	f.Results = cmp.Or(f.Results, f.Name)
	beside := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(path), name)
	}
	f.Results, f.Config = beside(f.Results), beside(f.Config)
	for _, name := range []*string{&f.Temporal.APIKey, &f.Temporal.Token, &f.Temporal.TLS.CA, &f.Temporal.TLS.Cert,
		&f.Temporal.TLS.Key} {
		*name = beside(*name)
	}
	if strings.HasSuffix(f.Campaign, ".yaml") || strings.HasSuffix(f.Campaign, ".yml") {
		f.Campaign = beside(f.Campaign)
	}
	at := map[string]string{} // machines by destination
	for i := range f.Machines {
		m := &f.Machines[i]
		m.SSH = cmp.Or(m.SSH, m.Name)
		if other := at[m.SSH]; other != "" && f.Temporal.Address == "" {
			return nil, fault.Campaignf("%s: ssh %s leads to one machine, but %s and %s are two", path, strict.Quote(m.SSH),
				other, m.Name)
		}
		at[m.SSH] = m.Name
	}
	return &f, nil
}

// Runs is the folder with the run files of a machine.
func (f *File) Runs(machine string) string { return filepath.Join(f.Results, machine) }
