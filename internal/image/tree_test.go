package image

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMissingTools(t *testing.T) {
	tree := t.TempDir()
	for _, d := range []string{"usr/bin", "usr/sbin", "etc/alternatives", "opt"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for p, mode := range map[string]os.FileMode{"usr/bin/fio": 0o755, "usr/sbin/mkfs.xfs": 0o755, "usr/bin/notes": 0o644,
		"opt/own": 0o755} {
		if err := os.WriteFile(filepath.Join(tree, p), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"bin": "usr/bin", "usr/bin/awk": "/etc/alternatives/awk", "etc/alternatives/awk": "/usr/bin/fio",
		"usr/bin/up": "../sbin/mkfs.xfs", "usr/bin/out": "/bin/nosuchthing", "usr/bin/loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(tree, link)); err != nil {
			t.Fatal(err)
		}
	}
	img := &Image{Tree: tree}
	got := img.MissingTools([]string{"fio", "mkfs.xfs", "awk", "up", "/opt/own", "notes", "out", "loop", "bin",
		"/opt/none", "sh-of-the-host"})
	want := []string{"notes", "out", "loop", "bin", "/opt/none", "sh-of-the-host"}
	if !slices.Equal(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
}

func TestHostSources(t *testing.T) {
	etc := t.TempDir()
	if err := os.Mkdir(filepath.Join(etc, "sources.list.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found := hostSources(etc, "bookworm"); found != nil {
		t.Errorf("without sources: %q", found)
	}
	for name, text := range map[string]string{
		"sources.list": `# deb http://comment.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ bookworm main contrib
deb-src http://mirror.example/debian/ bookworm main
deb https://download.docker.com/linux/debian bookworm stable
deb http://mirror.example/debian trixie main
`,
		"sources.list.d/debian.sources": `Types: deb deb-src
# a comment
URIs: mirror+file:///etc/apt/mirrors/debian-security.list
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
`,
		"sources.list.d/other.sources":   "Types: deb\nURIs: https://deb.example/node\nSuites: nodistro\nComponents: main\n",
		"sources.list.d/x.list.disabled": "deb http://disabled.example/debian bookworm main\n",
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"deb [signed-by=/k.gpg] http://mirror.example/debian/ bookworm main",
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " +
			"mirror+file:///etc/apt/mirrors/debian-security.list bookworm-security main",
	}
	if got := hostSources(etc, "bookworm"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
