package collect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

// maxIndex bounds the index of an image: one of 256 GiB has less.
const maxIndex = 8 << 20

func (s *Server) index(id string) string { return filepath.Join(s.dir, imagesDir, id+".json") }
func (s *Server) imageChunk(hash string) string {
	return filepath.Join(s.dir, imagesDir, "chunks", hash+".zst")
}

// imagesDir cannot be the name of a fleet.
const imagesDir = ".images"

// putIndex keeps the index of an image whose chunks are there, or says which are missing.
func (s *Server) putIndex(w http.ResponseWriter, r *http.Request, id string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxIndex))
	if err != nil || hashOf(body) != id {
		http.Error(w, "the index does not have this hash, or is too long", http.StatusBadRequest)
		return
	}
	x, err := image.ParseIndex(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if answerMissing(w, x.Chunks, s.imageChunk) {
		return
	}
	s.keep(w, s.index(id), body)
}

// putImageChunk keeps a compressed chunk of images.
func (s *Server) putImageChunk(w http.ResponseWriter, r *http.Request, hash string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, image.MaxCompressed))
	if err == nil {
		_, err = image.Unpack(hash, body)
	}
	if err != nil {
		http.Error(w, "the chunk does not have this hash, or is too long", http.StatusBadRequest)
		return
	}
	s.keep(w, s.imageChunk(hash), body)
}

// keep writes a file, whose directory it makes.
func (s *Server) keep(w http.ResponseWriter, path string, contents []byte) {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = replace(path, bytes.NewReader(contents), hashOf(contents))
	}
	if err != nil {
		refuse(w, err)
	}
}

// serveFile answers with a file.
func serveFile(w http.ResponseWriter, r *http.Request, path string) {
	f, err := os.Open(path)
	if err != nil {
		refuse(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
}

// SendImage brings to the collector what it lacks of the image with this index, from a source such as the image's Send.
// It returns how many chunks that were.
func (c *Client) SendImage(ctx context.Context, x image.Index, from image.Source) (sent int, err error) {
	err = c.put(ctx, "/images/"+x.ID(), x.Marshal(), x.Chunks, func(need []int) error {
		return from(ctx, need, func(n int, compressed []byte) error {
			sent++
			_, err := c.do(ctx, http.MethodPut, imageChunkPath(x, n), compressed, nil)
			return err
		})
	})
	return sent, err
}

func imageChunkPath(x image.Index, n int) string { return "/images/chunks/" + x.Chunks[n] }

// ImportImage makes the image with this id of its index in a cache, unless that has it. The image may be another build
// of the same recipe, whose packages may have other versions: same is false then.
func (c *Client) ImportImage(ctx context.Context, id, cacheDir string, step func(string)) (same bool, err error) {
	x, err := c.imageIndex(ctx, id)
	if err != nil {
		return false, err
	}
	img, err := image.Import(ctx, cacheDir, x, c.imageSource(x), step)
	if err != nil {
		return false, err
	}
	return img.Manifest.DiskSHA256 == x.DiskSHA256, nil
}

// imageIndex is the index with this id.
func (c *Client) imageIndex(ctx context.Context, id string) (x image.Index, err error) {
	body, err := c.get(ctx, "/images/"+id, maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x, fault.WithRemedy(fault.Hostf("the collector does not have the userland image of this run: %w", err),
			"tare fleet run and resume send it, if it is built where they are called")
	case err != nil:
		return x, err
	case hashOf(body) != id:
		return x, fault.Hostf("the index of the userland image arrived damaged")
	}
	return image.ParseIndex(body)
}

// imageSource takes an image's chunks from the collector. Those that are not there are left out.
func (c *Client) imageSource(x image.Index) image.Source {
	return func(ctx context.Context, need []int, take func(int, []byte) error) error {
		for _, n := range need {
			compressed, err := c.get(ctx, imageChunkPath(x, n), image.MaxCompressed)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			_ = take(n, compressed) // Import asks again for a damaged one, and then names it
		}
		return nil
	}
}

// get returns what is at a path, of so many bytes at most. The error is an fs.ErrNotExist if there is nothing.
func (c *Client) get(ctx context.Context, path string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	resp, err := c.request(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fault.Hostf("%s: %w at the collector", path, fs.ErrNotExist)
	default:
		return nil, said(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	if int64(len(body)) > most {
		return nil, fault.Hostf("%s at the collector has more than %d bytes", path, most)
	}
	return body, nil
}
