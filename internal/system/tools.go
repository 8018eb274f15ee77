package system

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// ToolDir is where scripts install programs that distributions lack, or have in too old a version.
const ToolDir = "/var/lib/tare/tools"

// FindTool returns the path of a program: in ToolDir, or else in PATH.
func FindTool(name string) (string, error) {
	if path, err := exec.LookPath(filepath.Join(ToolDir, name)); err == nil {
		return path, nil
	}
	return exec.LookPath(name)
}

// Version returns the first line that a program prints when it is called with --version.
func Version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(first), err
}
