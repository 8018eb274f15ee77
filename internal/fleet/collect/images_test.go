package collect

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

// madeUp is an index with chunks that the package image would cut so, and a source of them. Two are equal, as where the
// disk is empty.
func madeUp(t *testing.T) (image.Index, image.Source) {
	t.Helper()
	const chunk = 4 << 20
	zw, err := zstd.NewWriter(nil)
	must(t, err)
	x := image.Index{Format: 1, Name: "bookworm-base-0123456789ab", Key: "key", DiskSHA256: "disk"}
	var compressed [][]byte
	for i, size := range []int{chunk, chunk, chunk, 7} {
		data := make([]byte, size)
		if i > 1 { // what cannot be compressed has the largest chunks
			_, err := rand.NewChaCha8([32]byte{byte(i)}).Read(data)
			must(t, err)
		}
		x.Chunks, x.Size = append(x.Chunks, hashOf(data)), x.Size+int64(size)
		compressed = append(compressed, zw.EncodeAll(data, nil))
	}
	return x, func(_ context.Context, need []int, take func(int, []byte) error) error {
		for _, n := range need {
			if err := take(n, compressed[n]); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestImage: an image comes to the collector once, though connections break, and from there to machines.
func TestImage(t *testing.T) {
	x, source := madeUp(t)
	var puts atomic.Int64 // connections are served at once
	_, c := collector(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/chunks/") {
				if puts.Add(1) == 2 {
					panic(http.ErrAbortHandler)
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	if _, err := c.imageIndex(t.Context(), x.ID()); fault.KindOf(err) != fault.Host || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an image that is not there: %v", err)
	}
	if _, err := c.SendImage(t.Context(), x, source); fault.KindOf(err) != fault.Host {
		t.Errorf("a broken connection: %v", err)
	}
	for _, want := range []int{2, 0} { // of 3 that differ, one had arrived
		sent, err := c.SendImage(t.Context(), x, source)
		if err != nil || sent != want {
			t.Errorf("%d chunks were sent, not %d: %v", sent, want, err)
		}
	}
	got, err := c.imageIndex(t.Context(), x.ID())
	if err != nil || got.ID() != x.ID() {
		t.Fatalf("%+v, %v", got, err)
	}
	arrived := 0
	must(t, c.imageSource(got)(t.Context(), []int{0, 2, 3}, func(n int, compressed []byte) error {
		arrived++
		_, err := image.Unpack(x.Chunks[n], compressed)
		return err
	}))
	if arrived != 3 {
		t.Errorf("%d chunks arrived", arrived)
	}
}

// TestImageRefused: no damaged or long chunk, no index with another hash, and nobody without the token gets in; what
// was changed at the collector does not arrive as the image.
func TestImageRefused(t *testing.T) {
	x, source := madeUp(t)
	dir, c := collector(t, nil)
	for path, body := range map[string][]byte{
		"/images/chunks/" + x.Chunks[0]: []byte("no zstd"),
		"/images/chunks/" + x.Chunks[1]: bytes.Repeat([]byte{0}, image.MaxCompressed+1),
		"/images/chunks/..%2f..%2fx":    []byte("x"),
		"/images/" + x.Chunks[0]:        x.Marshal(),
		"/images/" + hashOf(nil):        nil,
		"/images/..%2fx":                x.Marshal(),
	} {
		status, err := c.do(t.Context(), http.MethodPut, path, body, nil)
		if err == nil || status != http.StatusBadRequest {
			t.Errorf("%.80s: status %d, %v", path, status, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, imagesDir, "*")); len(left) > 0 {
		t.Errorf("kept: %v", left)
	}
	stranger, err := NewClient(c.base, token+"x", nil)
	must(t, err)
	if _, err := stranger.SendImage(t.Context(), x, source); err == nil || !strings.Contains(err.Error(), "token_file") {
		t.Errorf("a wrong token: %v", err)
	}
	if _, err := stranger.imageIndex(t.Context(), x.ID()); err == nil || !strings.Contains(err.Error(), "token_file") {
		t.Errorf("a wrong token: %v", err)
	}
	_, err = c.SendImage(t.Context(), x, source)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, imagesDir, x.ID()+".json"), []byte("{}"), 0o600))
	if _, err := c.imageIndex(t.Context(), x.ID()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("another index under this name: %v", err)
	}
}
