// Package agentbin embeds the agent's program into tare, so that tare is a single file. The build
// writes the program to embedded/ before it builds tare.
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
func Program() ([]byte, error) {
	packed, err := files.ReadFile("embedded/tare-agent.gz")
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("this tare was built without its agent"), "make build")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the agent in this tare: %w", err)
	}
	program, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the agent in this tare: %w", err)
	}
	return program, nil
}
