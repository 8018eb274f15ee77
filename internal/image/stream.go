package image

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tare-bench/tare/internal/fault"
)

// Two tares send an image through a stream, such as an SSH connection. The sender writes the index; the receiver
// answers with the chunks that it needs, and gets them, until it needs none. Messages are lines of JSON; a chunk
// follows its line as bytes.

// request is what the receiver wants.
type request struct {
	Need []int `json:"need"` // none: it is done
	// DiskSHA256 is that of the image which the receiver has in the end.
	DiskSHA256 string `json:"disk_sha256,omitempty"`
}

// chunkHead announces a chunk of so many compressed bytes.
type chunkHead struct {
	Chunk int `json:"chunk"`
	Bytes int `json:"bytes"`
}

// MaxCompressed is the most bytes that a compressed chunk can have: zstd adds little to what it cannot compress.
const MaxCompressed = chunkSize + chunkSize/8

// SendTo sends the image to a Receive at the other end of a stream. It returns how many chunks were needed, and the
// hash of the disk that the receiver has in the end: another one than the index has if it had built the image itself.
func (i *Image) SendTo(ctx context.Context, x Index, w io.Writer, r io.Reader) (sent int, disk string, err error) {
	from, to := bufio.NewReader(r), json.NewEncoder(w)
	if err := to.Encode(x); err != nil {
		return 0, "", fault.Hostf("sending the image: %w", err)
	}
	for {
		var q request
		if err := readMessage(from, &q); err != nil {
			return sent, "", fault.Hostf("sending the image: the receiver ended early: %w", err)
		}
		if len(q.Need) == 0 {
			return sent, q.DiskSHA256, nil
		}
		err := i.Send(ctx, q.Need, func(n int, compressed []byte) error {
			sent++
			if err := to.Encode(chunkHead{n, len(compressed)}); err != nil {
				return err
			}
			_, err := w.Write(compressed)
			return err
		})
		if err != nil {
			return sent, "", fault.Hostf("sending the image: %w", err)
		}
	}
}

// Receive imports the image that a SendTo sends at the other end of a stream.
func Receive(ctx context.Context, cacheDir string, w io.Writer, r io.Reader, step func(string)) (*Image, error) {
	from, to := bufio.NewReader(r), json.NewEncoder(w)
	var x Index
	if err := readMessage(from, &x); err != nil {
		return nil, fault.Hostf("receiving an image: %w", err)
	}
	source := func(ctx context.Context, need []int, take func(int, []byte) error) error {
		if err := to.Encode(request{Need: need}); err != nil {
			return err
		}
		for range need {
			var h chunkHead
			if err := readMessage(from, &h); err != nil {
				return fmt.Errorf("the connection ended: %w", err)
			}
			if h.Chunk < 0 || h.Chunk >= len(x.Chunks) || h.Bytes < 0 || h.Bytes > MaxCompressed {
				return fmt.Errorf("the sender offers a chunk that the image cannot have: number %d with %d bytes", h.Chunk, h.Bytes)
			}
			compressed := make([]byte, h.Bytes)
			if _, err := io.ReadFull(from, compressed); err != nil {
				return fmt.Errorf("the connection ended: %w", err)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			_ = take(h.Chunk, compressed) // a damaged one is asked for again
		}
		return nil
	}
	img, err := Import(ctx, cacheDir, x, source, step)
	if err != nil {
		return nil, err
	}
	if err := to.Encode(request{DiskSHA256: img.Manifest.DiskSHA256}); err != nil {
		return nil, fault.Hostf("receiving an image: %w", err)
	}
	return img, nil
}

// readMessage reads a line of JSON, of an index of 1 TiB at most.
func readMessage(r *bufio.Reader, v any) error {
	line, err := r.ReadSlice('\n')
	var long []byte
	for err == bufio.ErrBufferFull && len(long) < 32<<20 {
		long = append(long, line...)
		line, err = r.ReadSlice('\n')
	}
	if err == io.EOF && len(line)+len(long) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(append(long, line...), v)
}
