package image

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// ProgramDir is the directory in the tree with the programs that tare brings along.
const ProgramDir = "/usr/local/bin"

// A Program is a static program of tare's own. The image depends on its content: a tare that was built with another
// one builds another image.
type Program struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // in hex

	content []byte // nil if the image exists already
}

// NewProgram returns the program with this name and content.
func NewProgram(name string, content []byte) Program {
	sum := sha256.Sum256(content)
	return Program{name, hex.EncodeToString(sum[:]), content}
}

// writeInto writes the program into a tree, perhaps a stranger's whose links lead out of it.
func (p Program) writeInto(tree string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	defer root.Close()
	to := strings.TrimPrefix(filepath.Join(ProgramDir, p.Name), "/")
	err = root.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = root.RemoveAll(to)
	}
	if err == nil {
		err = root.WriteFile(to, p.content, 0o755)
	}
	if err != nil {
		return fault.Hostf("building the image: tare's program %s: %w", p.Name, err)
	}
	return nil
}
