package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/sandbox"
)

// both has programs on a stand-in for the host, in a tree, or in both.
func both(t *testing.T) (root string) {
	t.Helper()
	host, root := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(host, "only-host"), filepath.Join(host, "everywhere"),
		filepath.Join(root, "usr/sbin/everywhere"), filepath.Join(root, "usr/bin/only-tree")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", host)
	t.Setenv("TARE_PROGRAMS", "")
	tree.Store(&sandbox.Tree{Root: root})
	t.Cleanup(func() { tree.Store(nil) })
	return root
}

// rootOf is the root directory of the program's tree; "": it is the host's.
func rootOf(p Program) string {
	if p.Tree == nil {
		return ""
	}
	return p.Tree.Root
}

func TestFind(t *testing.T) {
	root := both(t)
	for _, c := range []struct{ name, from, root string }{
		{"only-host", "", ""}, {"only-host", model.ProgramsHost, ""}, {"only-host", model.ProgramsTools, "none"},
		{"everywhere", "", ""}, {"everywhere", model.ProgramsHost, ""}, {"everywhere", model.ProgramsTools, root},
		{"only-tree", "", root}, {"only-tree", model.ProgramsHost, "none"}, {"only-tree", model.ProgramsTools, root},
		{"nowhere", "", "none"},
	} {
		p, err := Find(c.name, c.from)
		switch {
		case c.root == "none":
			if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), c.name) {
				t.Errorf("%s from %q: found %+v, error %v", c.name, c.from, p, err)
			}
		case err != nil || rootOf(p) != c.root || p.Name != c.name:
			t.Errorf("%s from %q: found %+v, error %v, want it below %q", c.name, c.from, p, err, c.root)
		}
	}
	if got := Missing([]string{"only-host", "only-tree", "nowhere"}); strings.Join(got, " ") != "only-tree nowhere" {
		t.Errorf("missing on the host: %q", got)
	}
	t.Setenv("TARE_PROGRAMS", model.ProgramsTools)
	if p, err := Find("everywhere", ""); err != nil || rootOf(p) != root {
		t.Errorf("with TARE_PROGRAMS: found %+v, error %v", p, err)
	}
	if p, err := Find("everywhere", model.ProgramsHost); err != nil || rootOf(p) != "" {
		t.Errorf("with TARE_PROGRAMS and a choice: found %+v, error %v", p, err)
	}
}

func TestBeside(t *testing.T) {
	root := both(t)
	inTree, err := Find("only-tree", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := inTree.Beside("everywhere")
	if err != nil || rootOf(p) != root || p.Path != "/usr/sbin/everywhere" {
		t.Errorf("found %+v, error %v", p, err)
	}
	if p, err = inTree.Beside("/bin/sh"); err != nil || rootOf(p) != root || p.Path != "/bin/sh" {
		t.Errorf("found %+v, error %v", p, err)
	}
	if p, err = inTree.Beside("only-host"); err == nil {
		t.Errorf("found %+v in the tree", p)
	}
	onHost, err := Find("only-host", "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = onHost.Beside("everywhere"); err != nil || rootOf(p) != "" {
		t.Errorf("found %+v, error %v", p, err)
	}
}

// TestWithoutTree: the error says how to get the tree.
func TestWithoutTree(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find("only-tree", ""); !strings.HasPrefix(fault.RemedyOf(err), "tare image builds it; ") {
		t.Errorf("%v", err)
	}
}

// TestUse mounts a tree in a namespace of its own: a program of the tree finds the host's files at their paths and
// writes beside them, and the tree stays as it is.
func TestUse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	if os.Getenv("TARE_TOOLS_TEST") == "" {
		cmd := exec.Command("unshare", "--mount", "--propagation", "private", os.Args[0], "-test.run", "^TestUse$", "-test.v")
		cmd.Env = append(os.Environ(), "TARE_TOOLS_TEST=1", "TARE_PROGRAMS=")
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("SKIP")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Skip("there is no busybox here")
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "a, b:c", "tree")
	scratch, state := filepath.Join(dir, "scratch"), filepath.Join(dir, "state")
	for _, d := range []string{filepath.Join(root, "usr/bin"), filepath.Join(root, "usr/lib"), scratch, state} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string][]byte{filepath.Join(root, "usr/bin/sh"): busybox,
		filepath.Join(state, "known"): []byte("to tare")} {
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/lib", filepath.Join(root, "lib")); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mount", "-t", "tmpfs", "scratch", scratch).Run(); err != nil {
		t.Fatal(err)
	}
	defer exec.Command("umount", scratch).Run()
	before, err := exec.Command("find", root).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := Use(root, scratch, state, state); err != nil {
		t.Fatal(err)
	}
	p, err := Find("sh", model.ProgramsTools)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Command(t.Context(), "-c", "read -r x <"+state+"/known; echo $x; echo seen >"+state+
		"/written; echo gone >/etc-of-the-tree; test -e /proc/self && test -c /dev/null && echo there").CombinedOutput()
	if string(out) != "to tare\nthere\n" || err != nil {
		t.Errorf("the program: %v\n%s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(state, "written")); string(b) != "seen\n" {
		t.Errorf("what it wrote for tare: %q, %v", b, err)
	}
	if err := exec.Command("umount", "--recursive", root).Run(); err != nil {
		t.Fatal(err)
	}
	after, err := exec.Command("find", root).Output()
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the tree was changed, %v:\n%s\nbefore:\n%s", err, after, before)
	}
}
