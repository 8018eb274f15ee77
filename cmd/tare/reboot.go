package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
)

// exitOtherBoot is the status of a run that continues in another boot of the host.
const exitOtherBoot = exitStatus(fault.ExitOtherBoot)

// resumeUnit is the systemd unit that continues a run after a reboot.
const resumeUnit = "tare-resume.service"

const unitText = `# Created by tare run --reboot, which removes it when the run is complete.
[Unit]
Description=tare resumes %[2]s
After=multi-user.target

[Service]
Type=exec
ExecStart=%[1]s --state %[3]s resume --yes --reboot --booted %[4]s %[2]s

[Install]
WantedBy=multi-user.target
`

// rebooter boots the host into what a run needs next, and continues the run there.
type rebooter struct {
	units string // systemd's directory of units
	// run runs a program of the host.
	run func(name string, args ...string) error
}

func hostRebooter() rebooter {
	return rebooter{"/etc/systemd/system", func(name string, args ...string) error {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			return fault.Hostf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}}
}

// into boots the host that way, once, and continues the run there.
func (r rebooter) into(b campaign.Boot, o *options, path string) error {
	if err := checkEntry(b, "; or boot it by hand, then tare resume "+path); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	words := []string{program, path, absolute(o.stateDir), b.Name}
	var quoted []any
	for _, w := range words {
		q, err := unitWord(w)
		if err != nil {
			return err
		}
		quoted = append(quoted, q)
	}
	if err := os.WriteFile(r.unit(), []byte(fmt.Sprintf(unitText, quoted...)), 0o644); err != nil {
		return fault.Hostf("%w", err)
	}
	for _, args := range [][]string{
		{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--quiet", resumeUnit},
		{"grub-reboot", b.Entry}, {"systemctl", "reboot"},
	} {
		if err := r.run(args[0], args[1:]...); err != nil {
			return errors.Join(err, r.remove())
		}
	}
	return nil
}

// checkEntry returns an error if the campaign does not say which entry of GRUB's menu boots a host that way. or ends
// its remedy.
func checkEntry(b campaign.Boot, or string) error {
	if b.Entry != "" {
		return nil
	}
	return fault.WithRemedy(fault.Campaignf("the campaign does not say which entry of GRUB's menu boots %s", b.Name),
		"set boots: {%s: {entry: \"…\"}}%s", b.Name, or)
}

// restart boots the host that way, once.
func (r rebooter) restart(b campaign.Boot) error {
	if err := checkEntry(b, ""); err != nil {
		return err
	}
	if err := r.run("grub-reboot", b.Entry); err != nil {
		return err
	}
	return r.run("systemctl", "reboot")
}

func (r rebooter) unit() string { return filepath.Join(r.units, resumeUnit) }

// remove removes what continues a run after a reboot, if it exists.
func (r rebooter) remove() error {
	_, err := os.Lstat(r.unit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = r.run("systemctl", "disable", "--quiet", resumeUnit) // what matters is that the files are removed
	link := filepath.Join(r.units, "multi-user.target.wants", resumeUnit)
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Hostf("%w", err)
	}
	if err := os.Remove(r.unit()); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// unitWord quotes a word for a systemd unit.
func unitWord(w string) (string, error) {
	if strings.ContainsAny(w, "\n\r\"\\") {
		return "", fault.Campaignf("%q cannot be used in a systemd unit: rename it", w)
	}
	w = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
	if strings.ContainsAny(w, " \t'") {
		w = `"` + w + `"`
	}
	return w, nil
}

// thenReboot wraps a command that measures: if its run continues in another boot,
// it boots the host into that. It works outside of the sandbox, after the sandbox
// is gone.
func thenReboot(o *options, reboot *bool, path func(args []string) string,
	work func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		if !*reboot || sandbox.Inside() {
			return err
		}
		r := hostRebooter()
		if err != exitOtherBoot {
			return errors.Join(err, r.remove())
		}
		file := absolute(path(args))
		b, _, e := experiment.NextBoot(cmd.Context(), file)
		if e != nil || b.Name == "" {
			return errors.Join(err, e)
		}
		if e := r.into(b, o, file); e != nil {
			return e
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "tare: rebooting into %s; the run continues there\n", b.Name)
		return err
	}
}
