package system

import (
	"os/exec"
	"path/filepath"
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
