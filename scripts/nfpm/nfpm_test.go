// Package nfpm tests what scripts/package makes. The module pins nfpm, and has what it is told.
package nfpm

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/blakesmith/ar"
	rpm "github.com/sassoftware/go-rpmutils"
)

// contents is what a package brings: its files with their modes, and what it says about itself.
type contents struct {
	files map[string]string // mode and owner by path
	about string
	extra []string // members that are neither files nor the description, such as scripts
}

// packages makes the packages of a version with scripts/package.
func packages(t *testing.T, program, version string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	run(t, "../package", dir, program).with("VERSION="+version, "SOURCE_DATE_EPOCH=1700000000")
	found := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		found[e.Name()] = b
	}
	return found
}

type command struct {
	t *testing.T
	*exec.Cmd
}

func run(t *testing.T, name string, args ...string) command {
	return command{t, exec.Command(name, args...)}
}

// with runs the command with variables added to its environment.
func (c command) with(env ...string) {
	c.t.Helper()
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program builds tare, and returns a short program that runs it: the packages contain whatever they are made of, and
// packing all of tare takes long.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path, short := filepath.Join(dir, "tare"), filepath.Join(dir, "short")
	must(t, os.WriteFile(short, []byte("#!/bin/sh\nexec "+path+" \"$@\"\n"), 0o755))
	c := run(t, cmp.Or(os.Getenv("GO"), "go"), "build", "-buildvcs=false", "-o", path, "./cmd/tare")
	c.Dir = "../.."
	c.with("CGO_ENABLED=0")
	return short
}

// TestPackages: the packages have their names and files, no scripts, no dependencies, and the same bytes each time.
func TestPackages(t *testing.T) {
	tare := program(t)
	made := packages(t, tare, "v1.2.3-rc1")
	again := packages(t, tare, "v1.2.3-rc1")
	names := slices.Sorted(maps.Keys(made))
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] // as it is called in all but .deb
	want := []string{"tare-1.2.3~rc1-1." + arch + ".rpm", "tare_1.2.3_rc1-r1_" + arch + ".apk",
		"tare_1.2.3~rc1-1_" + runtime.GOARCH + ".deb"}
	if !slices.Equal(names, want) {
		t.Fatalf("packages %q, want %q", names, want)
	}
	for name, b := range made {
		if !bytes.Equal(b, again[name]) {
			t.Errorf("%s: a second build gives other bytes", name)
		}
	}
	deb, err := readDeb(made[want[2]])
	must(t, err)
	red, err := readRPM(made[want[0]])
	must(t, err)
	apk, err := readAPK(made[want[1]])
	must(t, err)
	campaigns, err := filepath.Glob("../../campaigns/*.yaml")
	must(t, err)
	// Every system with rpm has these.
	everywhere := []string{"/usr/bin", "/usr/share", "/usr/share/licenses", "/usr/share/man", "/usr/share/man/man1"}
	for path, mode := range maps.Clone(red.files) {
		if mode == "directory" {
			delete(red.files, path)
			everywhere = append(everywhere, path)
		}
	}
	for path := range red.files {
		for dir := filepath.Dir(path); dir != "/usr"; dir = filepath.Dir(dir) {
			if !slices.Contains(everywhere, dir) {
				t.Errorf("rpm would leave %s", dir)
			}
		}
	}
	if host, err := os.Hostname(); err != nil || strings.Contains(red.about, "on "+host+"\n") {
		t.Errorf("rpm has the name of this machine: %v\n%s", err, red.about)
	}
	for kind, c := range map[string]struct {
		contents
		zsh, license, version string
	}{
		"deb": {deb, "vendor-completions", "doc/tare/copyright", "Version: 1.2.3~rc1-1\n"},
		"rpm": {red, "site-functions", "licenses/tare/LICENSE", "Version: 1.2.3~rc1\n"},
		"apk": {apk, "site-functions", "licenses/tare/LICENSE", "pkgver = 1.2.3_rc1-r1\n"},
	} {
		expected := []string{"bin/tare", "share/bash-completion/completions/tare", "share/" + c.license,
			"share/fish/vendor_completions.d/tare.fish", "share/zsh/" + c.zsh + "/_tare"}
		for _, f := range campaigns {
			expected = append(expected, "share/tare/campaigns/"+filepath.Base(f))
		}
		pages := 0
		for path, mode := range c.files {
			path = strings.TrimPrefix(path, "/usr/")
			want := "-rw-r--r-- root:root"
			if path == "bin/tare" {
				want = "-rwxr-xr-x root:root"
			}
			if mode != want {
				t.Errorf("%s: %s is %s, want %s", kind, path, mode, want)
			}
			if page, found := strings.CutPrefix(path, "share/man/man1/tare"); found && strings.HasSuffix(page, ".1.gz") {
				pages++
			} else if !slices.Contains(expected, path) {
				t.Errorf("%s: a file that is not expected: %s", kind, path)
			}
		}
		for _, path := range append(expected, "share/man/man1/tare.1.gz", "share/man/man1/tare-run.1.gz") {
			if c.files["/usr/"+path] == "" {
				t.Errorf("%s lacks /usr/%s", kind, path)
			}
		}
		if pages < 30 {
			t.Errorf("%s: %d manual pages", kind, pages)
		}
		if len(c.extra) > 0 {
			t.Errorf("%s has scripts, settings or dependencies: %q", kind, c.extra)
		}
		if !strings.Contains(c.about, c.version) || !strings.Contains(c.about, "Apache-2.0") {
			t.Errorf("%s says of itself:\n%s", kind, c.about)
		}
	}
}

// TestUntagged: packages of a commit without a tag are older than those of every release.
func TestUntagged(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tare") // not the real one: only the names count
	must(t, os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" != man ] || echo page >\"$2/tare.1\"\n"), 0o755))
	for _, version := range []string{"0123abcd", "v1.2.3-4-g0123abc", "v1.2.3-dirty", "unknown"} {
		names := slices.Sorted(maps.Keys(packages(t, program, version)))
		const base = "0.0.0~git20231114221320-1"
		if len(names) != 3 || !strings.HasPrefix(names[0], "tare-"+base+".") ||
			!strings.HasPrefix(names[2], "tare_"+base+"_") {
			t.Errorf("%s: packages %q", version, names)
		}
	}
}

// readTar adds the files of an archive. Members without a directory are the package's own.
func (c *contents) readTar(r *tar.Reader, own func(name string, text []byte)) error {
	for {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		name := "/" + strings.TrimLeft(h.Name, "./")
		switch {
		case h.Typeflag == tar.TypeDir:
		case strings.Count(name, "/") == 1:
			text, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			own(name[1:], text)
		default:
			c.files[name] = fmt.Sprintf("%s %s:%s", fs.FileMode(h.Mode), h.Uname, h.Gname)
		}
	}
}

// fields adds the lines of a description, and as extra those of dependencies.
func (c *contents) fields(text []byte) {
	c.about += string(text)
	for line := range strings.Lines(string(text)) {
		switch key, _, _ := strings.Cut(strings.ToLower(line), " "); strings.TrimSuffix(key, ":") {
		case "depends", "depend", "pre-depends", "conflicts", "replaces", "breaks", "triggers", "replaces_priority":
			c.extra = append(c.extra, line)
		}
	}
}

func readDeb(b []byte) (contents, error) {
	c := contents{files: map[string]string{}}
	for r := ar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return c, nil
		} else if err != nil {
			return c, err
		}
		if !strings.HasSuffix(strings.TrimRight(h.Name, "/"), ".tar.gz") {
			continue
		}
		z, err := gzip.NewReader(r)
		if err == nil {
			err = c.readTar(tar.NewReader(z), func(name string, text []byte) {
				switch name {
				case "control":
					c.fields(text)
				case "md5sums":
				default:
					c.extra = append(c.extra, name)
				}
			})
		}
		if err != nil {
			return c, err
		}
	}
}

// readAPK reads the two archives that are one after the other in a package. The first one lacks its end.
func readAPK(b []byte) (contents, error) {
	c := contents{files: map[string]string{}}
	all := bufio.NewReader(bytes.NewReader(b))
	z, err := gzip.NewReader(all)
	for err == nil {
		z.Multistream(false)
		err = c.readTar(tar.NewReader(z), func(name string, text []byte) {
			if name == "PKGINFO" {
				c.fields(text)
			} else {
				c.extra = append(c.extra, name)
			}
		})
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			_, err = io.Copy(io.Discard, z)
		}
		if err == nil {
			err = z.Reset(all)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return c, err
}

func readRPM(b []byte) (contents, error) {
	c := contents{files: map[string]string{}}
	p, err := rpm.ReadRpm(bytes.NewReader(b))
	if err != nil {
		return c, err
	}
	list, err := p.Header.GetFiles()
	if err != nil {
		return c, err
	}
	for _, f := range list {
		mode := fs.FileMode(f.Mode() & 0o777)
		c.files[f.Name()] = fmt.Sprintf("%s %s:%s", mode, f.UserName(), f.GroupName())
		if f.Mode()&0o170000 == 0o040000 {
			c.files[f.Name()] = "directory"
		}
		if f.Flags()&rpm.RPMFILE_CONFIG != 0 {
			c.extra = append(c.extra, f.Name())
		}
	}
	for _, tag := range []int{rpm.PREIN, rpm.POSTIN, rpm.PREUN, rpm.POSTUN, 1151, 1152, rpm.TRIGGERSCRIPTS} {
		if p.Header.HasTag(tag) {
			c.extra = append(c.extra, fmt.Sprint("tag ", tag))
		}
	}
	for what, tag := range map[string]int{"Version: ": rpm.VERSION, "License: ": rpm.LICENSE, "built on ": rpm.BUILDHOST} {
		text, err := p.Header.GetString(tag)
		if err != nil {
			return c, err
		}
		c.about += what + text + "\n"
	}
	requires, err := p.Header.GetStrings(rpm.REQUIRENAME)
	for _, r := range requires {
		if !strings.HasPrefix(r, "rpmlib(") { // rpm's own format
			c.extra = append(c.extra, "requires "+r)
		}
	}
	if _, none := err.(rpm.NoSuchTagError); none {
		err = nil
	}
	return c, err
}
