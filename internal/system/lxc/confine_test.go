package lxc

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

// TestDebianDefaults: a container gets no capability that the installed default configuration drops,
// and the seccomp profile that it names, unless the flavor has no hardening.
func TestDebianDefaults(t *testing.T) {
	b, err := os.ReadFile("/usr/share/lxc/config/common.conf")
	if err != nil {
		t.Skipf("LXC is not installed: %v", err)
	}
	debians := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, "="); ok {
			debians[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	for _, hardening := range []string{model.HardeningProduct, model.HardeningNone} {
		lines, err := confinement(hardening)
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]string{}
		for _, l := range lines {
			ours[l[0]] = l[1]
		}
		keep := strings.Fields(ours["lxc.cap.keep"])
		dropped := strings.Fields(debians["lxc.cap.drop"])
		if len(keep) == 0 || len(dropped) == 0 {
			t.Fatalf("kept %q, dropped by Debian %q", keep, dropped)
		}
		for _, name := range dropped {
			if slices.Contains(keep, name) {
				t.Errorf("%s: Debian drops %s, tare keeps it", hardening, name)
			}
		}
		profile := debians["lxc.seccomp.profile"]
		if hardening == model.HardeningNone {
			profile = ""
		}
		if got := ours["lxc.seccomp.profile"]; got != profile {
			t.Errorf("%s: the seccomp profile is %q, Debian's is %q", hardening, got, profile)
		}
	}
}
