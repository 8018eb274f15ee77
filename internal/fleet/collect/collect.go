// Package collect brings run files from machines to one place over HTTPS, and the userland image from there to them.
// Machines connect to the collector, never the other way round.
//
// A run file is sent in chunks under their SHA-256, so that a transfer which was interrupted continues
// with the chunks that are missing, and no damaged one is accepted. The file appears at the collector
// when all of it has arrived with the right hash. Sending it again does nothing.
//
//	PUT  /runs/FLEET/MACHINE/RUN/chunks/SHA256   a chunk
//	PUT  /runs/FLEET/MACHINE/RUN                 the manifest; 409 lists the chunks that are missing
//	GET  /runs/FLEET/MACHINE/RUN                 the file, with its hash as ETag
//
// Images are known by their content alone, so that nobody can replace one. Chunks are compressed; their
// hash is that of the content.
//
//	PUT  /images/chunks/SHA256                   a chunk
//	PUT  /images/SHA256                          the index; 409 lists the chunks that are missing
//	GET  /images/SHA256, /images/chunks/SHA256   what was put there
//
// Each request has a token, the same for all machines. Whoever has it can read and replace run files
// of the fleet, and read its images, so it is a secret of the fleet's operators, as is the key of a
// client's certificate.
package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// chunkSize is how many bytes a chunk has, except for the last one of a file.
const chunkSize = 1 << 20

// maxChunks bounds a manifest, and so the size of a run file, to 64 GiB.
const maxChunks = 1 << 16

// Name is which run file it is.
type Name struct{ Fleet, Machine, Run string }

var (
	// nameForm is what a part of a Name can be, since it becomes a file's name.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Check refuses a name that cannot be one of files.
func (n Name) Check() error {
	for _, s := range []string{n.Fleet, n.Machine, n.Run} {
		if !nameForm.MatchString(s) {
			return fault.Campaignf("%q cannot be collected under this name: it may have letters, digits, _, - and ., "+
				"and must not begin with - or .", s)
		}
	}
	return nil
}

func (n Name) path() string { return "/runs/" + n.Fleet + "/" + n.Machine + "/" + n.Run }

// manifest is a file as a list of chunks.
type manifest struct {
	SHA256 string   `json:"sha256"`
	Chunks []string `json:"chunks"`
}

// manifestOf reads all of a file.
func manifestOf(r io.Reader) (m manifest, err error) {
	whole, chunk := sha256.New(), make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(r, chunk)
		if n > 0 {
			whole.Write(chunk[:n])
			m.Chunks = append(m.Chunks, hashOf(chunk[:n]))
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			m.SHA256 = hex.EncodeToString(whole.Sum(nil))
			return m, nil
		}
		if err != nil {
			return m, fault.Hostf("%w", err)
		}
	}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
