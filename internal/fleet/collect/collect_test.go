package collect

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

const token = "0123456789abcdef"

var name = Name{"racks", "node1", "one"}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collector is one whose requests pass through a handler.
func collector(t *testing.T, through func(http.Handler) http.Handler) (dir string, c *Client) {
	t.Helper()
	dir = t.TempDir()
	s, err := NewServer(dir, token)
	must(t, err)
	h := s.HTTP().Handler
	if through != nil {
		h = through(h)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	c, err = NewClient(web.URL, token, nil)
	must(t, err)
	return dir, c
}

// random is a file of that many bytes.
func random(t *testing.T, size int) (path string, contents []byte) {
	t.Helper()
	contents = make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	_, err := source.Read(contents)
	must(t, err)
	path = filepath.Join(t.TempDir(), "run.tare")
	must(t, os.WriteFile(path, contents, 0o600))
	return path, contents
}

// TestSendFetch: files of all sizes arrive whole, and once.
func TestSendFetch(t *testing.T) {
	for _, size := range []int{0, 1, chunkSize, 3*chunkSize + 7} {
		var requests atomic.Int64 // connections are served at once
		dir, c := collector(t, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				h.ServeHTTP(w, r)
			})
		})
		path, contents := random(t, size)
		for range 2 {
			sum, err := c.Send(t.Context(), name, path)
			must(t, err)
			if sum != hashOf(contents) {
				t.Errorf("%d bytes: hash %s", size, sum)
			}
		}
		if want := (size+chunkSize-1)/chunkSize + 3; size > 0 && requests.Load() != int64(want) {
			t.Errorf("%d bytes were sent in %d requests, want %d", size, requests.Load(), want)
		}
		there, err := os.ReadFile(filepath.Join(dir, "racks", "node1", "one.tare"))
		must(t, err)
		to := filepath.Join(t.TempDir(), "node1", "one.tare")
		for i := range 2 {
			fetched, err := c.Fetch(t.Context(), name, to)
			if err != nil || fetched != (i == 0) {
				t.Errorf("%d bytes: fetched %v, %v", size, fetched, err)
			}
		}
		here, err := os.ReadFile(to)
		must(t, err)
		if !bytes.Equal(there, contents) || !bytes.Equal(here, contents) {
			t.Errorf("%d bytes arrive as %d, and are fetched as %d", size, len(there), len(here))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", "*", ".*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestBrokenTransfer: a transfer that breaks anywhere goes on with what is missing.
func TestBrokenTransfer(t *testing.T) {
	var puts, broken atomic.Int64 // connections are served at once
	_, c := collector(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/chunks/") {
				if puts.Add(1)%3 == 0 {
					broken.Add(1)
					panic(http.ErrAbortHandler)
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	path, _ := random(t, 10*chunkSize)
	attempts := 1
	for ; ; attempts++ {
		_, err := c.Send(t.Context(), name, path)
		if err == nil {
			break
		}
		if fault.KindOf(err) != fault.Host || attempts > 20 {
			t.Fatalf("attempt %d: %v", attempts, err)
		}
	}
	if puts, broken := puts.Load(), broken.Load(); broken == 0 || puts != 10+broken {
		t.Errorf("10 chunks were sent in %d requests, of which %d broke", puts, broken)
	}
}

// TestRefused: no damaged chunk, no unsafe name and nobody without the token gets in.
func TestRefused(t *testing.T) {
	dir, c := collector(t, nil)
	path, _ := random(t, 10)
	if _, err := c.Fetch(t.Context(), name, filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, n := range []Name{{"..", "n", "r"}, {"f", "a/b", "r"}, {"f", "n", ""}, {"f", "n", ".r"}} {
		if _, err := c.Send(t.Context(), n, path); fault.KindOf(err) != fault.Campaign {
			t.Errorf("%+v: %v", n, err)
		}
		if status, err := c.do(t.Context(), http.MethodPut, n.path(), []byte(`{}`), nil); err == nil {
			t.Errorf("%+v: the server says %d", n, status)
		}
	}
	for body, hash := range map[string]string{"x": hashOf([]byte("y")), "z": "../../z"} {
		if _, err := c.do(t.Context(), http.MethodPut, name.path()+"/chunks/"+hash, []byte(body), nil); err == nil {
			t.Errorf("a chunk with the wrong hash %s is accepted", hash)
		}
	}
	for _, list := range []string{"", "{}", `{"sha256":"` + hashOf(nil) + `","chunks":["../x"]}`} {
		if _, err := c.do(t.Context(), http.MethodPut, name.path(), []byte(list), nil); err == nil {
			t.Errorf("manifest %q is accepted", list)
		}
	}
	stranger, err := NewClient(c.base, token+"x", nil)
	must(t, err)
	if _, err := stranger.Send(t.Context(), name, path); err == nil || !strings.Contains(err.Error(), "token_file") {
		t.Errorf("a wrong token: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.tare")); len(files) > 0 {
		t.Errorf("files: %v", files)
	}
	for _, address := range []string{"http://10.0.0.1:1", "collector:1", "ftp://127.0.0.1"} {
		if _, err := NewClient(address, token, nil); err == nil {
			t.Errorf("address %s is accepted", address)
		}
	}
	if _, err := NewServer(dir, "short"); err == nil {
		t.Error("a short token is accepted")
	}
}
