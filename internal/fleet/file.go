package fleet

import (
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
	Machines []Member
}

// Member is a machine of a fleet's file.
type Member struct {
	Name  string
	SSH   string // destination for ssh, as on its command line; "": Name, which ~/.ssh/config may explain
	Group string // "": machines of its type
}

var (
	text = strict.Scalar("text", strict.Schema{"type": "string"}, func(s string) (string, error) {
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "-") {
			return "", fault.Campaignf("%s must not be blank or begin with -", strict.Quote(s))
		}
		return s, nil
	}, func(s string) any { return s }, strict.Text, strict.Integer, strict.Float)

	memberKind = strict.OrNull(strict.Object("a machine", []strict.Key[Member]{
		strict.Field("ssh", "destination for ssh, such as root@10.0.0.11; by default the machine's name", text,
			func(m *Member) *string { return &m.SSH }),
		strict.Field("group", "machines that are pooled; by default those with the same CPU", text,
			func(m *Member) *string { return &m.Group }),
	}))

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
	if f.Results == "" {
		f.Results = f.Name
	}
	beside := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(path), name)
	}
	f.Results, f.Config = beside(f.Results), beside(f.Config)
	if strings.HasSuffix(f.Campaign, ".yaml") || strings.HasSuffix(f.Campaign, ".yml") {
		f.Campaign = beside(f.Campaign)
	}
	for i := range f.Machines {
		if f.Machines[i].SSH == "" {
			f.Machines[i].SSH = f.Machines[i].Name
		}
	}
	return &f, nil
}

// Runs is the folder with the run files of a machine.
func (f *File) Runs(machine string) string { return filepath.Join(f.Results, machine) }
