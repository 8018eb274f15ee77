package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/tare-bench/tare/"

// listed is the part of the output of go list -json that the tests use.
type listed struct {
	ImportPath, Dir                    string
	Standard                           bool
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
	Module                             *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// short is the import path within the module.
func (p listed) short() string { return strings.TrimPrefix(p.ImportPath, module) }

// root is the top of the checkout.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...) // go test puts its own go first in PATH
	cmd.Dir = root(t)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return out
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	out := goCommand(t, append([]string{"list",
		"-json=ImportPath,Dir,Standard,GoFiles,Imports,TestImports,XTestImports,Module"}, args...)...)
	var list []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

var (
	packagesOnce sync.Once
	packages     []listed
)

// modulePackages returns all packages of this module.
func modulePackages(t *testing.T) []listed {
	t.Helper()
	packagesOnce.Do(func() { packages = goList(t, "./...") })
	if len(packages) == 0 {
		t.Fatal("go list found no packages")
	}
	return packages
}
