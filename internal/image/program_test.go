package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgram: a program of tare's own is in the tree, where commands are found, and its content makes the image.
func TestProgram(t *testing.T) {
	cache, _ := fakeHost(t, fakeMmdebstrap)
	load := NewProgram("tare-load", []byte("#!/bin/sh\necho 1\n"))
	r := with(t, testRecipe(), Needs{Programs: []Program{load}}, Needs{Programs: []Program{load}})
	if other := with(t, testRecipe(), Needs{Programs: []Program{NewProgram("tare-load", nil)}}); len(r.Programs) != 1 ||
		r.Key() == testRecipe().Key() || r.Key() == other.Key() {
		t.Errorf("%d programs, key %s", len(r.Programs), r.Key())
	}
	img, err := Build(t.Context(), Options{CacheDir: cache, Recipe: &r})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(img.Dir), "bookworm-tare-load-") {
		t.Errorf("it is in %s", img.Dir)
	}
	if missing := img.MissingTools([]string{"tare-load", "tare-none"}); len(missing) != 1 || missing[0] != "tare-none" {
		t.Errorf("missing: %v", missing)
	}
	got, err := os.ReadFile(filepath.Join(img.Tree, ProgramDir, "tare-load"))
	if err != nil || string(got) != "#!/bin/sh\necho 1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := OpenRecipe(cache, r); err != nil || again.Dir != img.Dir {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestProgramInStrangeTree: the links of a container image do not lead a program out of its tree.
func TestProgramInStrangeTree(t *testing.T) {
	p := NewProgram("tare-load", []byte("load"))
	for name, link := range map[string]string{"usr/local/bin/tare-load": "kept", "usr/local/bin": "", "usr": ""} {
		tree, outside := t.TempDir(), t.TempDir()
		kept := filepath.Join(outside, "kept")
		if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, link), filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
		err := p.writeInto(tree)
		if (err == nil) != (link != "") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(kept); err != nil || string(b) != "kept" {
			t.Errorf("%s: outside: %q, %v", name, b, err)
		}
		if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
			t.Errorf("%s: outside: %v, %v", name, list, err)
		}
	}
}
