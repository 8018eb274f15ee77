package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// TestProgramThatDoesNotWork: a program that prints no version is told, with what to do.
func TestProgramThatDoesNotWork(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct{ script, want string }{
		{"exit 0", "runc --version prints nothing"},
		{"exit 3", "runc --version: exit status 3"},
		{"echo runc version 1.1.5", ""},
	} {
		if err := os.WriteFile(filepath.Join(dir, "runc"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, version, err := (&Host{Programs: model.ProgramsHost}).Program(t.Context(), "runc")
		if c.want == "" {
			if err != nil || version != "runc version 1.1.5" {
				t.Errorf("%s: version %q, error %v", c.script, version, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(fault.RemedyOf(err), "TARE_PROGRAMS=tools") {
			t.Errorf("%s: error %v, remedy %q", c.script, err, fault.RemedyOf(err))
		}
	}
}
