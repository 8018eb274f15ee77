package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
	"github.com/tare-bench/tare/internal/lab"
)

// labFlags set the size of a lab, and whether it can be kept.
type labFlags struct {
	cpus     int
	memory   string
	outlives bool // the lab can be kept
}

func (f *labFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.cpus, "cpus", 2, "CPUs of the lab's machine")
	c.Flags().StringVar(&f.memory, "memory", "",
		"memory of the lab's machine, such as 4GiB (default: depends on the kind)")
}

func newLab(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Emulate a whole host: real Xen and real KVM where no hypervisor can run",
		Long: `lab boots a whole machine under QEMU with a CPU emulated in software: as Xen's
dom0, as a Linux host with KVM, or as plain Linux. tare runs in it as on any host.
Results from a lab are marked as emulated: they do not measure hardware. They show
that the systems work, freeze, keep to their CPU caps and are cleaned up.`,
		Example: `  tare lab run xen-campaign.yaml --kind xen --out lab.tare
  tare lab up xen && tare lab shell && tare lab down`,
	}
	return group(c, newLabUp(o), newLabRun(o), newLabShell(o), newLabDown(o))
}

func newLabUp(o *options) *cobra.Command {
	f := labFlags{outlives: true}
	c := &cobra.Command{
		Use:     "up xen|kvm|linux [WORKLOAD... | CAMPAIGN]",
		Short:   "Boot a lab that runs until tare lab down",
		Long:    "up boots a lab. Its guests have the userland that the given workloads, or those of a\ncampaign, need.",
		Example: "  tare lab up xen\n  tare lab up kvm web.yaml --memory 6GiB",
		Args:    cobra.MinimumNArgs(1),
	}
	f.add(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := startLab(cmd, o, f, args[0], args[1:])
		if err != nil {
			return err
		}
		if err := l.Keep(); err != nil {
			return errors.Join(err, l.Close())
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the lab (%s) is up; use tare lab shell, tare lab run, tare lab down\n", l.Kind())
		return nil
	}
	return c
}

// startLab builds what a lab consists of and boots it. userland is as for tare image.
func startLab(cmd *cobra.Command, o *options, f labFlags, kind string, userland []string) (*lab.Lab, error) {
	k, err := lab.ParseKind(kind)
	if err != nil {
		return nil, err
	}
	c := lab.Config{Kind: k, CPUs: f.cpus, MemoryBytes: k.DefaultMemory(), DiskBytes: 16 << 30, StateDir: o.stateDir,
		Outlives: f.outlives}
	if f.cpus < 1 {
		return nil, fault.Campaignf("--cpus %d: must be at least 1", f.cpus)
	}
	if f.memory != "" {
		m, err := campaign.ParseBytes(f.memory)
		if err != nil {
			return nil, fault.Campaignf("--memory: %w", err)
		}
		c.MemoryBytes = int64(m)
	}
	if os.Getuid() != 0 {
		return nil, fault.WithRemedy(fault.Hostf("building a lab needs root"), "sudo tare lab …")
	}
	if c.Agent, err = agentbin.Program(); err != nil {
		return nil, err
	}
	source, err := sourceOfArgs(cmd.Context(), o, userland, false)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if c.Userland, err = experiment.BuildImage(cmd.Context(), o.stateDir, source, showStep); err != nil {
		return nil, err
	}
	source = experiment.Source{Recipe: lab.Recipe()}
	if c.Host, err = experiment.BuildImage(cmd.Context(), o.stateDir, source, showStep); err != nil {
		return nil, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "booting the lab (%s) …\n", k)
	begin := time.Now()
	l, err := lab.Start(cmd.Context(), c)
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "booted in %v\n", time.Since(begin).Round(time.Second))
	}
	return l, err
}

func newLabDown(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "down",
		Short:   "Stop the lab and remove it",
		Example: "  tare lab down",
		RunE: func(*cobra.Command, []string) error {
			l, err := lab.Find(o.stateDir)
			if errors.Is(err, lab.ErrNone) {
				return lab.Sweep(o.stateDir)
			}
			if err != nil {
				return err
			}
			return l.Close()
		},
	}
}

func newLabRun(o *options) *cobra.Command {
	var f labFlags
	var kind, out string
	c := &cobra.Command{
		Use:   "run CAMPAIGN [-- FLAGS OF TARE RUN]",
		Short: "Run a campaign in the lab and copy its run file to this host",
		Long: `run runs a campaign in the running lab. If none is running, --kind boots one for
this run and removes it afterwards. For a campaign with boots, run boots one lab
after the other, one for each boot, until the run is complete.`,
		Example: "  tare lab run quick --kind kvm --out kvm.tare -- --budget 10m",
		Args:    cobra.MinimumNArgs(1),
	}
	f.add(c)
	c.Flags().StringVar(&kind, "kind", "", "kind of lab to boot if none is running: xen, kvm or linux")
	outFlag(c, &out, "run file to write (default NAME-lab-DATE-TIME.tare)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		text, file, err := experiment.Text(args[0])
		if err != nil {
			return err
		}
		if out == "" {
			out = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + time.Now().Format("-lab-20060102-150405") +
				".tare"
		}
		if _, err := os.Lstat(out); err == nil {
			return fault.WithRemedy(fault.Campaignf("%s already exists", out), "choose another file: --out")
		}
		switch boot, err := firstBoot(file, text); {
		case err != nil:
			return err
		case boot != "":
			return runInBoots(cmd, o, f, boot, args[0], text, args[1:], out)
		}
		l, err := lab.Find(o.stateDir)
		switch {
		case errors.Is(err, lab.ErrNone) && kind == "":
			return fault.WithRemedy(err, "tare lab up xen|kvm|linux, or --kind to boot one for this run only")
		case errors.Is(err, lab.ErrNone):
			if l, err = startLab(cmd, o, f, kind, args[:1]); err != nil {
				return err
			}
			defer l.Close()
		case err != nil:
			return err
		case kind != "" && kind != string(l.Kind()):
			return fault.WithRemedy(fault.Campaignf("the running lab is %s, not %s", l.Kind(), kind), "tare lab down")
		}
		return runInLab(cmd, l, text, args[1:], out, false)
	}
	return c
}

// runInLab copies this program and the campaign into the lab, runs the campaign
// there, and copies the run file out, complete or not. With resume it continues
// the existing run file.
func runInLab(cmd *cobra.Command, l *lab.Lab, text []byte, flags []string, out string, resume bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	share := l.ExchangeDir()
	if err := copyFile(self, filepath.Join(share, "tare"), 0o755); err != nil {
		return fault.Hostf("copying tare into the lab: %w", err)
	}
	if err := place(bytes.NewReader(text), filepath.Join(share, "campaign.yaml"), 0o644); err != nil {
		return fault.Hostf("copying the campaign into the lab: %w", err)
	}
	// Not /run/tare, where running tare processes register.
	const result, program = "run.tare", "/run/tare-program"
	work := program + ` run ` + lab.Exchange + `/campaign.yaml --yes --out ` + result + ` "$@"`
	if resume {
		run, err := filepath.EvalSymlinks(out)
		if err == nil {
			err = copyFile(run, filepath.Join(share, result), 0o644)
		}
		if err != nil {
			return fault.Hostf("copying the run file into the lab: %w", err)
		}
		work = `mv ` + lab.Exchange + `/` + result + ` . && ` + program + ` resume --trust ` + result
	}
	script := `rm -f ` + lab.Scratch + `/` + result + `; cd ` + lab.Scratch + ` && cp ` + lab.Exchange + `/tare ` +
		program + ` &&
		` + work + `; status=$?
		test ! -e ` + result + ` || cp ` + result + ` ` + lab.Exchange + `/; exit $status`
	r, err := inLab(cmd, l, append([]string{"sh", "-c", script, "sh"}, flags...))
	if err != nil {
		return err
	}
	switch err := copyFile(filepath.Join(share, result), out, 0o644); {
	case err == nil:
		fmt.Fprintf(cmd.OutOrStdout(), "\nthe run is in %s, marked as emulated: its times say nothing about real hardware\n",
			out)
		os.Remove(filepath.Join(share, result))
	case !errors.Is(err, os.ErrNotExist):
		return fault.Hostf("copying the run file out of the lab: %w", err)
	}
	return endedWith(r)
}

// inLab runs a command in the lab, shows its output, and passes an interrupt on.
func inLab(cmd *cobra.Command, l *lab.Lab, argv []string) (*agent.Result, error) {
	s, err := l.Connect(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := attached(cmd, s, agent.Command{Argv: argv, Env: lab.Env, Dir: "/"})
	if err != nil {
		return nil, fmt.Errorf("in the lab: %w", err)
	}
	return r, nil
}

// copyFile writes a copy that exists completely or not at all. What it copies is a plain file: the
// lab must not make it wait, or read anything else on the host.
func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || !st.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not a plain file", from))
	}
	return place(in, to, mode)
}

// place writes a file that exists completely or not at all, in the place of whatever has its name.
func place(in io.Reader, to string, mode os.FileMode) error {
	return files.Replace(to, mode, func(out *os.File) error {
		_, err := io.Copy(out, in)
		return errors.Join(err, out.Sync())
	})
}

func newLabShell(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "shell [-- COMMAND …]",
		Short:   "Open a shell in the lab, or run one command",
		Example: "  tare lab shell\n  tare lab shell -- xl list",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Find(o.stateDir)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return l.Shell(cmd.Context())
			}
			r, err := inLab(cmd, l, args)
			if err != nil {
				return err
			}
			return endedWith(r)
		},
	}
}
