package experiment

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// A campaign is code that runs as root, and a run file carries one. tare seals what it
// would execute of a run file with a key of the state directory, and continues only runs
// with its own seal, or those that the user says to trust.

// sealed are the documents of a run that say what is executed.
var sealed = []string{store.DocCampaign, store.DocCampaignYAML, store.DocArms, store.DocUserland}

// seal authenticates the sealed documents; document returns the one of a name, nil if
// there is none.
func seal(stateDir string, document func(name string) ([]byte, error)) ([]byte, error) {
	key, err := sealKey(stateDir)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	for _, name := range sealed {
		body, err := document(name)
		if err != nil {
			return nil, err
		}
		for _, part := range [][]byte{[]byte(name), body} {
			mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			mac.Write(part)
		}
	}
	return mac.Sum(nil), nil
}

// sealKey returns the key of a state directory, which it creates at the first use. Only
// its owner can read it.
func sealKey(stateDir string) ([]byte, error) {
	path := filepath.Join(stateDir, "seal.key")
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newSealKey(path)
	}
	if err == nil && len(key) != sha256.Size {
		err = fmt.Errorf("%s has %d bytes instead of %d", path, len(key), sha256.Size)
	}
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("the key for sealing run files: %w", err),
			"delete it, if it is damaged: tare then makes another one, and asks for --trust to resume earlier runs")
	}
	return key, nil
}

func newSealKey(path string) ([]byte, error) {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".seal-") // mode 0600
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	// Unlike renaming it, this never replaces the key that another tare has just made.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault.Hostf("%w", err)
	}
	if key, err = os.ReadFile(path); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return key, nil
}

// checkSeal refuses to execute what is in a run file that this tare did not write.
// again is the command with which the user says to trust it.
func checkSeal(stateDir string, s *store.Run, again string) error {
	document := func(name string) ([]byte, error) {
		if has, err := s.HasDocument(name); err != nil || !has {
			return nil, err
		}
		return s.Document(name)
	}
	want, err := seal(stateDir, document)
	if err != nil {
		return err
	}
	have, err := document(store.DocSeal)
	if err != nil || hmac.Equal(have, want) {
		return err
	}
	c, err := dataset.CampaignOf(s)
	if err != nil {
		return err
	}
	err = fault.Campaignf("%s was not made by tare with the state directory %s, or it has been changed. "+
		"Its campaign would run as root:\n%s", s.Path(), stateDir, strings.Join(commandsOf(c), "\n"))
	return fault.WithRemedy(err, "if you know who made it, and trust these commands: %s", again)
}

// commandsOf lists what a campaign executes and accesses, one thing a line, in which
// nothing is invisible.
func commandsOf(c *campaign.Campaign) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, "    "+fmt.Sprintf(format, args...)) }
	for _, w := range c.Workloads {
		if !w.Custom() {
			add("workload %q of tare", w.Series())
		}
		if w.Build != "" {
			add("workload %q: copies %q into the image", w.Series(), w.Build)
		}
		for _, step := range []struct {
			what string
			argv []string
		}{
			{"prepare", w.Own.Prepare}, {"server", w.Own.Server}, {"ready", w.Own.Ready},
			{"command", w.Own.Command}, {"clean", w.Own.Clean},
		} {
			if step.argv != nil {
				add("workload %q, %s: %q", w.Series(), step.what, step.argv)
			}
		}
		if q := w.Own.Requests; q.Port > 0 {
			add("workload %q: requests %q of its server, at port %d", w.Series(), q.URL, q.Port)
		}
		if len(w.Own.Packages) > 0 {
			add("workload %q: installs the packages %q into the image", w.Series(), w.Own.Packages)
		}
	}
	if len(c.Image.Packages) > 0 {
		add("installs the packages %q into the image", c.Image.Packages)
	}
	for _, a := range c.Active() {
		if a.Target != "" {
			add("arm %q: logs in to %q", a.Name, a.Target)
		}
		for _, o := range a.Options {
			add("arm %q: option %q is %q", a.Name, o.Name, o.Value)
		}
	}
	for _, f := range c.Flavors {
		if len(f.Devices) > 0 {
			add("flavor %q: overwrites the devices %q", f.Name, f.Devices)
		}
	}
	for _, b := range c.Boots {
		add("reboots into %q", b.Name)
	}
	return lines
}
