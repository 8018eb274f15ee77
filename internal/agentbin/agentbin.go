// Package agentbin embeds the programs that tare puts into guests, so that tare is a single file: the agent, and the
// load generators of its own. The build writes the programs to embedded/ before it builds tare.
package agentbin

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"

	"github.com/tare-bench/tare/internal/fault"
)

//go:embed all:embedded
var files embed.FS

// Program returns the agent's static program.
func Program() ([]byte, error) { return Named("tare-agent") }

// Named returns the static program of this name: tare-agent, tare-http or tare-redis.
func Named(name string) ([]byte, error) {
	packed, err := files.ReadFile("embedded/" + name + ".gz")
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("this tare was built without its program %s", name), "make build")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s in this tare: %w", name, err)
	}
	program, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s in this tare: %w", name, err)
	}
	return program, nil
}
