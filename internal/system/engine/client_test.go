package engine

import (
	"archive/tar"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

const id = "sha256:134c456afd9c3399d27061113a6f9c65040ad90848e7d3cebbd37b8a1df30d1c"

func TestImageID(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"` + id + `"}` + "\r\n":                                       id, // Docker
		`{"status":"` + id + `","progress":"","id":"` + id + `"}`:                id, // Podman
		`{"status":"sha256:` + strings.Repeat("0", 64) + `"}{"id":"` + id + `"}`: id,
		`{"status":"Importing"}`:                                                 "",
		id[:40]:                                                                  "",
		"":                                                                       "",
	} {
		if got, err := imageID([]byte(text)); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func frame(stream byte, text string) string {
	return string([]byte{stream, 0, 0, 0, 0, 0, byte(len(text) >> 8), byte(len(text))}) + text
}

func TestPlain(t *testing.T) {
	both := frame(1, "out\n") + frame(2, strings.Repeat("e", 300))
	for in, want := range map[string]string{
		both:                         "out\n" + strings.Repeat("e", 300),
		both[:len(both)-100]:         "out\n" + strings.Repeat("e", 200),
		frame(1, "") + frame(2, "x"): "x",
		"":                           "",
		"no frame at all":            "",
	} {
		if got := plain([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(frame(1, "out\n") + frame(2, "x")))
	f.Add([]byte{2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := plain(b); len(got) > len(b) {
			t.Errorf("%d bytes of %d", len(got), len(b))
		}
		if sum, err := imageID(b); err == nil && !strings.Contains(string(b), sum) {
			t.Errorf("%q is not in %q", sum, b)
		}
	})
}

// TestClient: an error from an engine keeps the engine's message.
func TestClient(t *testing.T) {
	at := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case version + "/none":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"message":"no such container: x"}`)
		case version + "/echo":
			io.Copy(w, r.Body)
		case version + "/nonsense":
			io.WriteString(w, "<html>")
		}
	})}
	go server.Serve(l)
	defer server.Close()
	c := newClient(at)
	if err := c.call(t.Context(), "GET", "/none", nil, nil); !gone(err) || fault.KindOf(err) != fault.Host ||
		!strings.Contains(err.Error(), "no such container: x") {
		t.Errorf("refused: %v", err)
	}
	var echo ulimit
	if err := c.call(t.Context(), "POST", "/echo", ulimit{"nofile", 1, 2}, &echo); err != nil ||
		echo != (ulimit{"nofile", 1, 2}) {
		t.Errorf("%+v, %v", echo, err)
	}
	if err := c.call(t.Context(), "GET", "/nonsense", nil, &echo); err == nil || fault.KindOf(err) != fault.Host {
		t.Errorf("nonsense: %v", err)
	}
	server.Close()
	if err := c.call(t.Context(), "GET", "/none", nil, nil); err == nil || gone(err) {
		t.Errorf("nobody there: %v", err)
	}
}

// TestSkeleton: the image has the directories of the tree and none of its content.
func TestSkeleton(t *testing.T) {
	tree := t.TempDir()
	for _, dir := range []string{"usr/bin", "etc", "proc", "data"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("usr/bin", filepath.Join(tree, "bin")),
		os.WriteFile(filepath.Join(tree, "tare-agent"), []byte("x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	file, binds, err := skeleton(tree)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{tree + "/etc:/etc:ro", tree + "/usr:/usr:ro"}; !slices.Equal(binds, want) {
		t.Errorf("binds %q, want %q", binds, want)
	}
	var names []string
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Size != 0 {
			t.Errorf("%s has %d bytes", h.Name, h.Size)
		}
		names = append(names, h.Name+h.Linkname)
	}
	if want := []string{"binusr/bin", "data/", "etc/", "proc/", "tare-agent", "usr/"}; !slices.Equal(names, want) {
		t.Errorf("the image has %q, want %q", names, want)
	}
}
