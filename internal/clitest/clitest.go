// Package clitest builds the real program for tests that run it as users do.
package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main builds the command in directory dir, puts the program's path into *program, runs the tests, removes the
// program, and exits. It is all that TestMain does.
func Main(m *testing.M, dir string, program *string) {
	temp, err := os.MkdirTemp("", "tare-cli-*")
	if err != nil {
		panic(err)
	}
	*program = filepath.Join(temp, "tare")
	build := exec.Command("go", "build", "-o", *program, dir)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building tare: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Setenv("TARE_YES", "1") // whoever else lives on the host, such as the machines of other tests
	status := m.Run()
	os.RemoveAll(temp)
	os.Exit(status)
}
