package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
)

func TestRebooter(t *testing.T) {
	var ran []string
	fail := ""
	r := rebooter{t.TempDir(), func(name string, args ...string) error {
		ran = append(ran, strings.Join(append([]string{name}, args...), " "))
		if name == fail {
			return errors.New("no")
		}
		return nil
	}}
	path := "/srv/a b/100%.tare"
	xen := campaign.Boot{Name: "xen", Entry: "Debian GNU/Linux, with Xen hypervisor"}
	if err := r.into(campaign.Boot{Name: "xen"}, &options{}, path); fault.KindOf(err) != fault.Campaign || len(ran) > 0 {
		t.Errorf("without an entry: %v, ran %q", err, ran)
	}
	if err := r.restart(campaign.Boot{Name: "xen"}); fault.KindOf(err) != fault.Campaign || len(ran) > 0 {
		t.Errorf("restart without an entry: %v, ran %q", err, ran)
	}
	if err := r.into(xen, &options{stateDir: "/var/lib/tare"}, path); err != nil {
		t.Fatal(err)
	}
	want := "systemctl daemon-reload|systemctl enable --quiet tare-resume.service|grub-reboot " + xen.Entry +
		"|systemctl reboot"
	if got := strings.Join(ran, "|"); got != want {
		t.Errorf("ran %s", got)
	}
	text, err := os.ReadFile(r.unit())
	if err != nil || !strings.Contains(string(text),
		` --state /var/lib/tare resume --yes --reboot --booted xen "/srv/a b/100%%.tare"`+"\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if tool, err := exec.LookPath("systemd-analyze"); err == nil {
		if out, err := exec.Command(tool, "verify", "--man=no", r.unit()).CombinedOutput(); strings.Contains(string(out),
			resumeUnit) {
			t.Errorf("systemd: %v\n%s", err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(r.units, "multi-user.target.wants"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.unit(), filepath.Join(r.units, "multi-user.target.wants", resumeUnit)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.remove(); err != nil {
			t.Fatal(err)
		}
	}
	fail = "grub-reboot"
	if err := r.into(xen, &options{}, path); err == nil {
		t.Error("the failure of grub-reboot is not reported")
	}
	left, _ := filepath.Glob(filepath.Join(r.units, "*.service"))
	if more, _ := filepath.Glob(filepath.Join(r.units, "*", "*.service")); len(left)+len(more) > 0 {
		t.Errorf("left: %v %v", left, more)
	}
	if err := r.into(xen, &options{}, "/srv/a\nb.tare"); err == nil {
		t.Error("a name of two lines got into a unit")
	}
}

// An image can be built for a campaign whose boots are not this host's.
func TestRecipeOfBoots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "xen.yaml")
	text := `name: xen
boots: {linux: {}, xen: {}}
flavors: {one: {vcpus: 1, memory: 512MiB, disk: 64MiB}}
arms: [native, xen-dom0, xen-pv]
workloads: [{name: compress, packages: [zstd], command: zstd --version}]
blocks: 4
recreate_every: 1
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := sourceOfArgs(t.Context(), &options{stateDir: t.TempDir()}, []string{file}, false)
	if err != nil || !slices.Contains(r.Packages, "zstd") {
		t.Errorf("%+v, %v", r, err)
	}
}
