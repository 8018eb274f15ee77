// Package tools finds the programs that systems consist of, such as runc, lxc-start and QEMU: this host's, or those of
// the tools tree, which tare brings along for hosts that lack them.
//
// A program of the tree runs with the tree as its root directory, so with the libraries and files that it was built
// for. The host's devices, /proc, /sys, /run, /tmp and tare's own directories are mounted in the tree, so that a
// program finds guests at the same paths as tare.
package tools

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/sandbox"
)

// Dir is where scripts install programs that distributions lack, or have in too old a version. They are preferred.
const Dir = "/var/lib/tare/tools"

// Program is a program of the host or of the tools tree.
type Program struct {
	Name string
	Tree *sandbox.Tree // in which it runs; nil: it is the host's
	Path string        // below the tree's root
}

// tree is the tools tree, nil until Use.
var tree atomic.Pointer[sandbox.Tree]

// Find returns the program with this name. from is model.ProgramsHost, model.ProgramsTools, or "" for what the
// environment variable TARE_PROGRAMS says, or else for the host's, or the tree's if the host has none. A name with a
// slash is the path of a program of the host. The error says how to get the program.
func Find(name, from string) (Program, error) {
	from = cmp.Or(from, os.Getenv("TARE_PROGRAMS"))
	if strings.Contains(name, "/") {
		path, err := exec.LookPath(name)
		return Program{Name: name, Path: path}, err
	}
	if from != model.ProgramsHost {
		if path, err := exec.LookPath(filepath.Join(Dir, name)); err == nil {
			return Program{Name: name, Path: path}, nil
		}
	}
	if from != model.ProgramsTools {
		if path, err := exec.LookPath(name); err == nil {
			return Program{Name: name, Path: path}, nil
		}
	}
	if t := tree.Load(); t != nil && from != model.ProgramsHost {
		if p, err := inTree(t, name); err == nil {
			return p, nil
		}
	}
	return Program{}, missing(name, from)
}

func inTree(t *sandbox.Tree, name string) (Program, error) {
	for _, dir := range files.ProgramDirs {
		if path := filepath.Join(dir, name); files.IsProgram(t.Root, path) {
			return Program{Name: name, Tree: t, Path: path}, nil
		}
	}
	return Program{}, fault.Hostf("the tools tree has no %s", name)
}

func missing(name, from string) error {
	switch {
	case from == model.ProgramsHost:
		return fault.WithRemedy(fault.Hostf("this host has no %s", name),
			"install it, or let tare use that of its tools tree: programs: %s", model.ProgramsTools)
	case tree.Load() == nil:
		return fault.WithRemedy(fault.Hostf("this host has no %s, and the tools tree is not built", name),
			"tare image builds it; on hosts that cannot, tare image import takes that of another machine")
	default:
		return fault.Hostf("neither this host nor the tools tree has %s", name)
	}
}

// Beside returns another program of the host, or of the tree.
func (p Program) Beside(name string) (Program, error) {
	switch {
	case p.Tree == nil:
		return Find(name, model.ProgramsHost)
	case filepath.IsAbs(name):
		return Program{Name: name, Tree: p.Tree, Path: name}, nil
	default:
		return inTree(p.Tree, name)
	}
}

// File returns the path, as tare sees it, of a file of the host or of the tree that the program sees at path.
func (p Program) File(path string) string {
	if p.Tree == nil {
		return path
	}
	return filepath.Join(p.Tree.Root, path)
}

// Command is exec.CommandContext for the program, with this process's environment. The caller is inside a sandbox if it
// is a program of the tree.
func (p Program) Command(ctx context.Context, args ...string) *exec.Cmd {
	argv := append([]string{p.Name}, args...)
	if p.Tree != nil {
		return sandbox.Enter{Tree: p.Tree, Path: p.Path, Argv: argv, Env: os.Environ()}.Command(ctx)
	}
	cmd := exec.CommandContext(ctx, p.Path)
	cmd.Args = argv
	return cmd
}

// Version returns the first line that the program prints when it is called with --version, and whose program it is.
func (p Program) Version(ctx context.Context) (string, error) {
	out, err := p.Command(ctx, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	first = strings.TrimSpace(first)
	if p.Tree != nil {
		first += " (of the tools tree)"
	}
	return first, err
}

// Command is Find, of any source, and Program.Command.
func Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	p, err := Find(name, "")
	if err != nil {
		return nil, err
	}
	return p.Command(ctx, args...), nil
}

// Missing returns those of names that are not programs of this host.
func Missing(names []string) []string {
	var missing []string
	for _, name := range names {
		if _, err := Find(name, model.ProgramsHost); err != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// Used reports whether the tools tree is in use.
func Used() bool { return tree.Load() != nil }
