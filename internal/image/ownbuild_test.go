package image

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// makeBuild makes a directory such as make leaves behind.
func makeBuild(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bench")
	if err := os.MkdirAll(filepath.Join(dir, "pgms"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pgms", "prog"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pgms/prog", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readBuild(t *testing.T, path string) OwnBuild {
	t.Helper()
	b, err := ReadOwnBuild(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOwnBuild: a build is identified by its content, wherever it is.
func TestOwnBuild(t *testing.T) {
	dir := makeBuild(t)
	b := readBuild(t, dir)
	for _, same := range []string{makeBuild(t), filepath.Join(dir, "..", "bench")} {
		if readBuild(t, same).SHA256 != b.SHA256 {
			t.Errorf("%s is another build", same)
		}
	}
	program := filepath.Join(dir, "pgms", "prog")
	for _, one := range []OwnBuild{b, readBuild(t, program)} {
		tree := t.TempDir()
		if err := one.copyInto(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		if got := readBuild(t, filepath.Join(tree, one.GuestPath())); got.SHA256 != one.SHA256 {
			t.Errorf("%s: its copy is another build", one.path)
		}
	}
	other := with(t, Base(), Needs{OwnBuilds: []OwnBuild{b}})
	if !strings.HasPrefix(other.Name, "own") || other.Key() == Base().Key() {
		t.Errorf("image %s, %s", other.Name, other.Key())
	}
	// The build changes between the plan and the image.
	for change, f := range map[string]func() error{
		"content": func() error { return os.WriteFile(program, []byte("#!/bin/bash\n"), 0o755) },
		"mode":    func() error { return os.Chmod(program, 0o700) },
		"name":    func() error { return os.Rename(program, program+"2") },
		"link":    func() error { return os.Remove(filepath.Join(dir, "latest")) },
	} {
		before := readBuild(t, dir)
		if err := f(); err != nil {
			t.Fatal(err)
		}
		if readBuild(t, dir).SHA256 == before.SHA256 {
			t.Errorf("%s: still the same build", change)
		}
		if err := before.copyInto(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "changed while") {
			t.Errorf("%s: copied: %v", change, err)
		}
	}
}

func TestOwnBuildRefuses(t *testing.T) {
	dir := makeBuild(t)
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxBuild+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"bench": "must be absolute", "/nowhere/bench": "no such file", dir: "not a file, directory or link",
		large: "more than",
	} {
		if _, err := ReadOwnBuild(path); err == nil || fault.KindOf(err) != fault.Campaign ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
