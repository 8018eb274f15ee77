package analyze

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// Parity is how an arm's guests differ from those of the other arms. Its zero value means that they
// do not.
type Parity struct {
	OwnUserland bool   // they run their own programs, not the image's
	Unfrozen    bool   // they are not frozen while others are measured
	Size        string // what they have, if it is not what the flavor says; or ""
}

// readParity records for each arm what the run's systems and guests report.
func (in *Input) readParity(r *store.Run, arms []store.Arm) error {
	body, err := r.Document(store.DocSystems)
	if err != nil {
		if fault.KindOf(err) == fault.Campaign {
			return nil // a run without this document
		}
		return err
	}
	var systems []struct {
		Name         string
		Capabilities *struct {
			Remote      bool    `json:"remote"`
			OwnUserland bool    `json:"own_userland"`
			Freeze      *string `json:"freeze"` // always there, "" when it cannot
		}
	}
	// Ignore a document of another form.
	if err := json.Unmarshal(body, &systems); err != nil {
		var form *json.UnmarshalTypeError
		if errors.As(err, &form) {
			return nil
		}
		return fault.Campaignf("%s is damaged: %s: %w", r.Path(), store.DocSystems, err)
	}
	remote := map[string]store.Flavor{} // by arm
	for i := range in.Arms {
		for _, s := range systems {
			if s.Name != in.Arms[i].System || s.Capabilities == nil {
				continue
			}
			c := s.Capabilities
			in.Arms[i].Parity = Parity{OwnUserland: c.OwnUserland, Unfrozen: c.Freeze != nil && *c.Freeze == ""}
			if c.Remote {
				remote[in.Arms[i].Name] = arms[i].Flavor
			}
		}
	}
	if len(remote) == 0 {
		return nil
	}
	guests, err := r.Guests()
	if err != nil {
		return err
	}
	for _, g := range guests {
		f, ok := remote[g.Arm]
		cpus, memory := g.Hello.CPUs, float64(g.Hello.MemoryBytes)
		want := float64(f.MemoryBytes)
		if !ok || cpus == f.VCPUs && memory > 0.75*want && memory < 1.1*want {
			continue
		}
		for i := range in.Arms {
			if in.Arms[i].Name == g.Arm {
				in.Arms[i].Parity.Size = fmt.Sprintf("%d CPUs and %.4g MiB of memory, but the flavor says %d and %.4g MiB",
					cpus, memory/(1<<20), f.VCPUs, want/(1<<20))
			}
		}
	}
	return nil
}

// findUnequalArms reports arms that the campaign made unequal.
func findUnequalArms(a *analysis) (out []Finding) {
	for _, arm := range a.in.Arms {
		base, self := a.baselineArm(arm)
		x, y := arm.Size, base.Size
		if self || x == (store.Flavor{}) {
			continue
		}
		var parts []string
		differ := func(differs bool, format string, args ...any) {
			if differs {
				parts = append(parts, fmt.Sprintf(format, args...))
			}
		}
		differ(x.VCPUs != y.VCPUs, "%d CPUs against %d", x.VCPUs, y.VCPUs)
		differ(x.MemoryBytes != y.MemoryBytes, "%.4g MiB of memory against %.4g", float64(x.MemoryBytes)/mebi, float64(y.MemoryBytes)/mebi)
		differ(x.CPUCap != y.CPUCap, "a cap of %s against %s", capText(x.CPUCap), capText(y.CPUCap))
		differ(x.CPUs != y.CPUs, "host CPUs %s against %s", x.CPUs, y.CPUs)
		differ(x.DiskBytes != y.DiskBytes, "a disk of %.4g MiB against %.4g", float64(x.DiskBytes)/mebi, float64(y.DiskBytes)/mebi)
		differ(x.DiskFS != y.DiskFS, "%s against %s", x.DiskFS, y.DiskFS)
		differ(x.Backing != y.Backing, "its data on %s against %s", x.Backing, y.Backing)
		if parts != nil {
			out = append(out, Finding{Arm: arm.Name, Text: fmt.Sprintf("does not have the size of %s: it has %s", base.Name, strings.Join(parts, ", "))})
		}
	}
	return out
}

func capText(cpus float64) string {
	if cpus == 0 {
		return "none"
	}
	return fmt.Sprintf("%.4g CPUs", cpus)
}

func findOwnUserland(a *analysis) []Finding {
	return a.eachUnequal(func(p Parity) string {
		if !p.OwnUserland {
			return ""
		}
		return "ran its own programs, not those of the image that the other arms run: a difference may come from versions and builds"
	})
}

func findUnequalSize(a *analysis) []Finding {
	return a.eachUnequal(func(p Parity) string {
		if p.Size == "" {
			return ""
		}
		return "its machine has " + p.Size
	})
}

func findUnfrozen(a *analysis) []Finding {
	return a.eachUnequal(func(p Parity) string {
		if !p.Unfrozen {
			return ""
		}
		return "cannot be frozen: other programs on that machine kept running while other arms were measured, and may have run during its own trials"
	})
}

// eachUnequal makes a finding for every arm for which say returns a text.
func (a *analysis) eachUnequal(say func(Parity) string) (out []Finding) {
	for _, arm := range a.in.Arms {
		if text := say(arm.Parity); text != "" {
			out = append(out, Finding{Arm: arm.Name, Text: text})
		}
	}
	return out
}
