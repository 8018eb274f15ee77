package container

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// entry is a file of a layer; its kind is a regular file unless it says otherwise.
type entry struct {
	name, text, link string
	kind             byte
	mode             int64
	uid              int
	xattr            string
}

// layerTar is the tar file of a layer.
func layerTar(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode, Uid: e.uid, Size: int64(len(e.text)),
			Devmajor: 1, Devminor: 3, Format: tar.FormatPAX}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if e.xattr != "" {
			h.PAXRecords = map[string]string{"SCHILY.xattr.user.tare": e.xattr}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// imageOf is an image for this machine with these layers.
func imageOf(t testing.TB, config v1.Config, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, b := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// saved writes an image as docker save does, and returns the file.
func saved(t testing.TB, img v1.Image) string {
	t.Helper()
	tag, err := name.NewTag("app:1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.tar")
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		t.Fatal(err)
	}
	return file
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give files to their owners")
	}
}

// unpack unpacks layers into a directory of their own, and returns it with what happened.
func unpack(t testing.TB, limit int64, layers ...[]byte) (string, error) {
	t.Helper()
	needRoot(t)
	i, err := Open(t.Context(), saved(t, imageOf(t, v1.Config{}, layers...)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, i.Unpack(t.Context(), dir, limit)
}

// TestForms: an image is the same wherever it is kept.
func TestForms(t *testing.T) {
	img := imageOf(t, v1.Config{Entrypoint: []string{"/app"}, Cmd: []string{"run"}, Env: []string{"A=b"}, User: "web",
		WorkingDir: "/srv", Volumes: map[string]struct{}{"/z": {}, "a/": {}},
		ExposedPorts: map[string]struct{}{"80/tcp": {}}},
		layerTar(t, entry{name: "app", text: "program"}))
	id, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{annotation: "1.0"})); err != nil {
		t.Fatal(err)
	}
	archived := filepath.Join(t.TempDir(), "layout.tar")
	tarOf(t, dir, archived)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	ref, err := name.ParseReference(host + "/team/app:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	file := saved(t, img)
	for _, from := range []string{dir, "oci:" + dir, "oci:" + dir + ":1.0", archived, "oci-archive:" + archived, file,
		"docker-archive:" + file, "docker-archive:" + file + ":app:1", "docker://" + host + "/team/app:1"} {
		temp := t.TempDir()
		i, err := Open(t.Context(), from, temp)
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		if i.ID != id.String() || !slices.Equal(i.Config.Volumes, []string{"/a", "/z"}) || i.Config.User != "web" ||
			i.Config.Dir != "/srv" || !slices.Equal(i.Config.Entrypoint, []string{"/app"}) ||
			!slices.Equal(i.Config.Ports, []string{"80/tcp"}) {
			t.Errorf("%s: %+v", from, i)
		}
		if os.Getuid() == 0 {
			tree := filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(tree, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := i.Unpack(t.Context(), tree, 1<<20); err != nil {
				t.Errorf("%s: %v", from, err)
			}
			if b, err := os.ReadFile(filepath.Join(tree, "app")); err != nil || string(b) != "program" {
				t.Errorf("%s: %q, %v", from, b, err)
			}
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("%s: %v is left", from, left)
		}
	}
}

// tarOf writes a directory as a tar file.
func tarOf(t *testing.T, dir, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRefused: what cannot be used is refused with the reason.
func TestRefused(t *testing.T) {
	layer := layerTar(t, entry{name: "app", text: "program"})
	changed := func(change func(*v1.ConfigFile)) string {
		img := imageOf(t, v1.Config{}, layer)
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		file = file.DeepCopy()
		change(file)
		if img, err = mutate.ConfigFile(img, file); err != nil {
			t.Fatal(err)
		}
		return saved(t, img)
	}
	notArchive := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(notArchive, []byte("not an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"amd64": "arm64"}[runtime.GOARCH]
	if other == "" {
		other = "amd64"
	}
	t.Setenv("PATH", t.TempDir()) // no local stores
	for ref, want := range map[string]string{
		changed(func(f *v1.ConfigFile) { f.Architecture = other }): "it is for " + other,
		changed(func(f *v1.ConfigFile) { f.OS = "windows" }):       "tare's guests run Linux",
		changed(func(f *v1.ConfigFile) { f.RootFS.DiffIDs = nil }): "layer",
		notArchive:         "no archive",
		"no/such:image":    "this host has none of docker, podman and ctr",
		"oci:/no/such":     "no OCI layout",
		"docker-daemon:-v": "docker",
	} {
		i, err := Open(t.Context(), ref, t.TempDir())
		if err == nil {
			i.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
}

// TestLayers: later layers replace, remove and hide what earlier ones have.
func TestLayers(t *testing.T) {
	dir, err := unpack(t, 1<<20,
		layerTar(t, entry{name: "etc/", kind: tar.TypeDir}, entry{name: "etc/old", text: "1"},
			entry{name: "etc/kept", text: "1", uid: 1234, mode: 0o640, xattr: "x"}, entry{name: "opaque/in", text: "1"},
			entry{name: "one", text: "first"}, entry{name: "two", kind: tar.TypeLink, link: "one"},
			entry{name: "su", text: "s", mode: 0o4755}),
		layerTar(t, entry{name: "etc/.wh.old"}, entry{name: "opaque/.wh..wh..opq"}, entry{name: "opaque/new", text: "2"},
			entry{name: "one", text: "second"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"etc/kept": "1", "opaque/new": "2", "one": "second", "two": "first"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q (%v), want %q", name, b, err, want)
		}
	}
	for _, gone := range []string{"etc/old", "opaque/in", "etc/.wh.old"} {
		if _, err := os.Lstat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "etc/kept"), &st); err != nil || st.Uid != 1234 || st.Mode&0o777 != 0o640 {
		t.Errorf("%+v, %v", st, err)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(filepath.Join(dir, "etc/kept"), "user.tare", value); err == unix.ENOTSUP {
		t.Log("this file system has no extended attributes")
	} else if err != nil || string(value[:n]) != "x" {
		t.Errorf("extended attribute %q, %v", value[:max(n, 0)], err)
	}
}

// TestHostile: nothing is written outside of the tree, whatever a layer says, and nothing in it is a device.
func TestHostile(t *testing.T) {
	outside := t.TempDir()
	for _, c := range []struct {
		what    string
		layers  [][]byte
		refused string // "": it unpacks
	}{
		{"dots", [][]byte{layerTar(t, entry{name: "../../../../../../" + outside + "/a", text: "1"})}, ""},
		{"absolute", [][]byte{layerTar(t, entry{name: outside + "/a", text: "1"})}, ""},
		{"link", [][]byte{layerTar(t, entry{name: "out", kind: tar.TypeSymlink, link: outside},
			entry{name: "out/a", text: "1"})}, ""},
		{"link of another layer", [][]byte{layerTar(t, entry{name: "out", kind: tar.TypeSymlink, link: outside}),
			layerTar(t, entry{name: "out/a", text: "1"}, entry{name: "out/.wh.kept"}, entry{name: "out/.wh..wh..opq"})}, ""},
		{"link with dots", [][]byte{layerTar(t, entry{name: "out", kind: tar.TypeSymlink,
			link: "../../../../../../" + outside}, entry{name: "out/a", text: "1"})}, ""},
		{"hard link", [][]byte{layerTar(t, entry{name: "mine", kind: tar.TypeLink,
			link: "../../../../../../" + outside + "/kept"}, entry{name: "mine", text: "1"})}, "no such file"},
		{"whiteout of the tree", [][]byte{layerTar(t, entry{name: ".wh..", text: ""}, entry{name: "a", text: "1"})},
			"whiteout"},
		{"device", [][]byte{layerTar(t, entry{name: "null", kind: tar.TypeChar}, entry{name: "disk",
			kind: tar.TypeBlock})}, ""},
		{"bomb", [][]byte{layerTar(t, entry{name: "big", text: strings.Repeat("\x00", 2<<20)})}, errBomb.Error()},
	} {
		if err := os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir, err := unpack(t, 1<<20, c.layers...)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.refused)
		}
		if b, err := os.ReadFile(filepath.Join(outside, "kept")); err != nil || string(b) != "kept" {
			t.Errorf("%s: the file outside is %q, %v", c.what, b, err)
		}
		if list, _ := os.ReadDir(outside); len(list) != 1 {
			t.Errorf("%s: outside of the tree there are %v", c.what, list)
		}
		err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type()&os.ModeDevice != 0 {
				t.Errorf("%s: %s is a device", c.what, path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedLayer: a layer must be the one that the configuration names.
func TestDamagedLayer(t *testing.T) {
	needRoot(t)
	i, err := Open(t.Context(), saved(t, imageOf(t, v1.Config{}, layerTar(t, entry{name: "a", text: "1"}))), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	i.content[0].Hex = strings.Repeat("0", 64)
	dir := t.TempDir()
	if err := i.Unpack(t.Context(), dir, 1<<20); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// TestAccount: users and groups as container engines find them.
func TestAccount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\nweb:x:33:33::/srv:/x\nodd:x:many:1::/:/x\n",
		"group":  "root:x:0:\nwww:x:80:web,root\nlog:x:81:web\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for user, want := range map[string]Account{
		"":         {Home: "/root", Groups: []uint32{80}},
		"web":      {UID: 33, GID: 33, Groups: []uint32{80, 81}, Home: "/srv"},
		"33":       {UID: 33, GID: 33, Groups: []uint32{80, 81}, Home: "/srv"},
		"web:log":  {UID: 33, GID: 81, Home: "/srv"},
		"web:7":    {UID: 33, GID: 7, Home: "/srv"},
		"4711":     {UID: 4711, Home: "/"},
		"4711:www": {UID: 4711, GID: 80, Home: "/"},
	} {
		if got, err := AccountOf(dir, user); err != nil || got.UID != want.UID || got.GID != want.GID ||
			got.Home != want.Home || !slices.Equal(got.Groups, want.Groups) {
			t.Errorf("%q: %+v, %v, want %+v", user, got, err, want)
		}
	}
	for _, user := range []string{"nobody", "web:nobody", "odd", "99999999999"} {
		if got, err := AccountOf(dir, user); err == nil {
			t.Errorf("%q: %+v", user, got)
		}
	}
	pipe := t.TempDir()
	if err := os.Mkdir(filepath.Join(pipe, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(pipe, "etc/passwd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/group", filepath.Join(pipe, "etc/group")); err != nil {
		t.Fatal(err)
	}
	if a, err := AccountOf(pipe, "1:adm"); err == nil {
		t.Errorf("the host's groups are used: %+v", a)
	}
}

// FuzzApply: no tar file writes outside of the tree or hangs.
func FuzzApply(f *testing.F) {
	f.Add(layerTar(f, entry{name: "a/b", text: "1"}, entry{name: "a/.wh.b"},
		entry{name: "l", kind: tar.TypeSymlink, link: "/"}))
	f.Add(layerTar(f, entry{name: "../a", text: "1"}, entry{name: "h", kind: tar.TypeLink, link: "/etc/passwd"}))
	f.Fuzz(func(t *testing.T, layer []byte) {
		needRoot(t)
		top := t.TempDir()
		dir := filepath.Join(top, "in", "tree")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		left := bounds{read: 1 << 20, written: 1 << 20, limit: 1 << 20, entries: 100}
		_ = apply(t.Context(), dir, bytes.NewReader(layer), "", &left)
		for _, d := range []string{top, filepath.Join(top, "in")} {
			if list, err := os.ReadDir(d); err != nil || len(list) != 1 {
				t.Fatalf("%s has %v, %v", d, list, err)
			}
		}
	})
}
