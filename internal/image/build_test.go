package image

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// fakeMmdebstrap makes a tree and a kernel as the real program does with its hook.
const fakeMmdebstrap = `echo called >>"$FAKE/calls"
echo "I: running apt-get update..." >&2
mkdir -p "$TARE_DEBS/../tree"; cd "$TARE_DEBS/../tree"
mkdir -p usr/bin etc/apt/sources.list.d var/lib/dpkg
for t in sh bash; do printf '#!' >usr/bin/$t; chmod 755 usr/bin/$t; done
mkdir -p etc/apt/apt.conf.d; echo secret-proxy >etc/apt/apt.conf.d/99mmdebstrap
echo "deb http://mirror.invalid/debian" >etc/apt/sources.list
printf 'Package: fio\nStatus: install ok installed\nVersion: 3.33-3\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n' >var/lib/dpkg/status
cd "$TARE_DEBS"
mkdir -p kernel/boot kernel/lib/modules/6.1.0-1-cloud-amd64
echo bz >kernel/boot/vmlinuz-6.1.0-1-cloud-amd64
touch kernel/lib/modules/6.1.0-1-cloud-amd64/modules.dep
echo 6.1.0-1-cloud-amd64 >version
touch "${TARE_SOURCE}_6.1_all.deb"
`

// offlineMmdebstrap prints what mmdebstrap 1.3.5 prints without a network.
const offlineMmdebstrap = `mkdir -p "$TARE_DEBS/../tree/half"
cat >&2 <<'END'
I: running apt-get update...
Ign:1 http://mirror.example/debian bookworm InRelease
Err:1 http://mirror.example/debian bookworm InRelease
  Could not resolve 'mirror.example'
Reading package lists...
E: Failed to fetch http://mirror.example/debian/dists/bookworm/InRelease  Could not resolve 'mirror.example'
E: Some index files failed to download. They have been ignored, or old ones used instead.
E: apt-get update --error-on=any -oAPT::Status-Fd=<$fd> -oDpkg::Use-Pty=false failed
E: mmdebstrap failed to run
END
exit 25
`

func testRecipe() Recipe {
	r := Base()
	r.Name, r.Pieces = "test", 3
	return r
}

// fakeHost puts replacements of the tools on PATH and returns a cache directory and theirs.
func fakeHost(t *testing.T, mmdebstrap string) (cache, dir string) {
	t.Helper()
	dir = t.TempDir()
	var src bytes.Buffer
	writeTar(t, &src, 30)
	if err := os.WriteFile(filepath.Join(dir, "src.tar"), src.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"mmdebstrap": mmdebstrap,
		"apt-get":    "exit 1",
		"apt-config": `echo 'Acquire::http::Proxy "http://secret-proxy:1/";'`,
		"dpkg-deb":   `mkdir -p "$3/usr/src"; touch "$3/usr/src/linux-source-6.1.tar.xz"`,
		"xz":         `exec cat "$FAKE/src.tar"`,
		"mke2fs":     `while [ "$1" != -d ]; do shift; done; echo disk >"$3"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	oldID, oldNeed := geteuid, needBytes
	geteuid, needBytes = func() int { return 0 }, 0
	t.Cleanup(func() { geteuid, needBytes = oldID, oldNeed })
	return filepath.Join(t.TempDir(), "images"), dir
}

func visible(t *testing.T, cache string) []string {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName && e.Name() != logName {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestBuildOnceForAll(t *testing.T) {
	cache, dir := fakeHost(t, fakeMmdebstrap)
	left := filepath.Join(cache, tempPrefix+"killed", "tree")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	r := testRecipe()
	if _, err := OpenRecipe(cache, r); !errors.Is(err, ErrNotBuilt) || fault.KindOf(err) != fault.Host {
		t.Fatalf("Open of an empty cache: %v", err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := Build(context.Background(), Options{CacheDir: cache, Recipe: &r}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != "called\n" {
		t.Errorf("mmdebstrap was run %d times for one image", strings.Count(string(calls), "\n"))
	}
	if names := visible(t, cache); len(names) != 1 || names[0] != r.dirName() {
		t.Errorf("the cache has %v", names)
	}
	img, err := OpenRecipe(cache, r)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(img.Dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("other users can run the image's programs: %v, %v", st.Mode(), err)
	}
	if err := verify(img); err != nil {
		t.Error(err)
	}
	if pkgs, err := readPackages(img.Tree, false); err != nil || len(pkgs) != 1 || pkgs["fio"] != "3.33-3" {
		t.Errorf("packages %v, %v", pkgs, err)
	}
	if img.KernelVersion != "6.1.0-1-cloud-amd64" || img.Vmlinux != "" {
		t.Errorf("kernel %q, vmlinux %q", img.KernelVersion, img.Vmlinux)
	}
	for _, p := range []string{"data", "proc", "sys", "dev/shm", "tmp", "run", "var/tmp"} {
		if st, err := os.Stat(filepath.Join(img.Tree, p)); err != nil || !st.IsDir() {
			t.Errorf("no mount point %s: %v", p, err)
		}
	}
	if st, err := os.Stat(img.Tree + AgentPath); err != nil || st.Mode().Perm() != 0o755 || st.Size() != 0 {
		t.Errorf("%s: %v %v", AgentPath, st, err)
	}
	if err := filepath.WalkDir(img.Tree+"/etc/apt", func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			t.Errorf("the host's apt settings are left in the tree: %s", p)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// verify checks that the image is complete and that its disk is byte for byte as it was built.
func verify(i *Image) error {
	if err := i.check(); err != nil {
		return err
	}
	sum, err := files.Sum(i.Disk)
	if err == nil && sum != i.Manifest.DiskSHA256 {
		err = errors.New("disk.ext4 was changed after it was built")
	}
	return err
}

func TestOpenFindsDamage(t *testing.T) {
	cache, _ := fakeHost(t, fakeMmdebstrap)
	r := testRecipe()
	img, err := Build(t.Context(), Options{CacheDir: cache, Recipe: &r})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(img.Tree, SourcePath, "002.tar.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecipe(cache, r); err == nil || !strings.Contains(err.Error(), "002.tar.gz") ||
		fault.RemedyOf(err) == "" {
		t.Errorf("a missing piece passes: %v", err)
	}
	if img, err = Build(t.Context(), Options{CacheDir: cache, Recipe: &r}); err != nil {
		t.Fatalf("a damaged image is not built again: %v", err)
	}
	if err := verify(img); err != nil {
		t.Error(err)
	}
}

func TestBuildFailures(t *testing.T) {
	for name, c := range map[string]struct{ script, want, remedy string }{
		"offline":   {offlineMmdebstrap, "Could not resolve 'mirror.example'", "mirror"},
		"disk full": {`echo "E: cannot write: No space left on device" >&2; exit 1`, "the disk is full", "free some space"},
		"unknown":   {`echo "E: something new" >&2; exit 3`, "E: something new", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cache, _ := fakeHost(t, c.script)
			r := testRecipe()
			_, err := Build(t.Context(), Options{CacheDir: cache, Recipe: &r})
			if fault.KindOf(err) != fault.Host || err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "mmdebstrap") ||
				!strings.Contains(err.Error(), filepath.Join(cache, logName)) {
				t.Errorf("error %v", err)
			}
			if got := fault.RemedyOf(err); c.remedy != "" && !strings.Contains(got, c.remedy) {
				t.Errorf("remedy %q", got)
			}
			if names := visible(t, cache); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

func TestBuildRefusals(t *testing.T) {
	cache, dir := fakeHost(t, fakeMmdebstrap)
	needBytes = 1 << 62
	if _, err := Build(t.Context(), Options{CacheDir: cache}); err == nil || !strings.Contains(err.Error(), "GB free") {
		t.Errorf("little space: %v", err)
	}
	t.Setenv("PATH", dir)
	if err := os.Remove(filepath.Join(dir, "mmdebstrap")); err != nil {
		t.Fatal(err)
	}
	_, err := Build(t.Context(), Options{CacheDir: cache})
	if !errors.Is(err, ErrNoBuild) || !strings.HasPrefix(fault.RemedyOf(err), "apt-get install mmdebstrap;") {
		t.Errorf("no mmdebstrap: %v", err)
	}
	geteuid = func() int { return 1000 }
	if _, err := Build(t.Context(), Options{CacheDir: cache}); err == nil || !strings.Contains(err.Error(), "needs root") {
		t.Errorf("not root: %v", err)
	}
}

func TestBuildCancelled(t *testing.T) {
	cache, dir := fakeHost(t, `echo $$ >"$FAKE/pid"; mkdir -p "$TARE_DEBS/../tree"; sleep 3600 & sleep 3600`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for t.Context().Err() == nil {
			if b, _ := os.ReadFile(filepath.Join(dir, "pid")); len(b) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	r := testRecipe()
	// It returns long before the sleeps end.
	if _, err := Build(ctx, Options{CacheDir: cache, Recipe: &r}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if names := visible(t, cache); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestList(t *testing.T) {
	cache, _ := fakeHost(t, fakeMmdebstrap)
	r, old := testRecipe(), testRecipe()
	old.Packages = old.Packages[1:]
	for _, r := range []Recipe{old, r} {
		if _, err := Build(t.Context(), Options{CacheDir: cache, Recipe: &r}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := List(cache); err != nil || len(list) != 2 || list[0].Manifest.Key == "" {
		t.Fatalf("List: %v, %v", list, err)
	}
	if img, err := OpenKey(cache, old.Key()); err != nil || filepath.Base(img.Dir) != old.dirName() {
		t.Errorf("by its key: %+v, %v", img, err)
	}
	must(t, os.RemoveAll(filepath.Join(cache, old.dirName())))
	if _, err := OpenKey(cache, old.Key()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("what is gone, by its key: %v", err)
	}
}

func TestKeyFollowsRecipe(t *testing.T) {
	a, b := Base(), Base()
	if a.Key() != b.Key() || len(a.Key()) != 64 {
		t.Fatalf("keys of equal recipes: %s, %s", a.Key(), b.Key())
	}
	seen := map[string]bool{a.Key(): true}
	for n, change := range []func(*Recipe){
		func(r *Recipe) { r.Packages = append(r.Packages, "apache2") },
		func(r *Recipe) { r.Kernel = "linux-image-amd64" },
		func(r *Recipe) { r.Pieces = 32 },
		func(r *Recipe) { r.Suite = "trixie" },
		func(r *Recipe) { r.Exclude = nil },
	} {
		r := Base()
		change(&r)
		if seen[r.Key()] {
			t.Errorf("change %d leaves the key as it was", n)
		}
		seen[r.Key()] = true
	}
}

func TestMountsBelow(t *testing.T) {
	if m, err := mountsBelow(t.TempDir()); err != nil || len(m) != 0 {
		t.Errorf("a new directory has mounts: %v, %v", m, err)
	}
	m, err := mountsBelow("/proc")
	if err != nil || len(m) == 0 || m[len(m)-1] != "/proc" {
		t.Skipf("no /proc of its own here: %v, %v", m, err)
	}
}

// TestMountsOfBuild: what a command of a build mounts, and leaves mounted, is not mounted here.
func TestMountsOfBuild(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	dir := t.TempDir()
	mounted := ""
	err := run(t.Context(), func(line string) { mounted += line }, command{name: "sh",
		args: []string{"-c", `mount -t tmpfs none "$1" && grep -o " $1 tmpfs" /proc/mounts; exit 3`, "sh", dir}})
	if err == nil || !strings.Contains(mounted, dir) {
		t.Fatalf("it mounted %q, and ended with %v", mounted, err)
	}
	if left, err := mountsBelow(dir); err != nil || len(left) > 0 {
		t.Errorf("mounted after it: %v, %v", left, err)
	}
}
