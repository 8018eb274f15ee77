// Soaksum adds up the rounds of a soak, which it reads from standard input: JSON objects with a kind
// and numbers.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

func main() {
	if err := sum(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soaksum:", err)
		os.Exit(1)
	}
}

func sum(in io.Reader, out io.Writer) error {
	rounds, totals := 0, map[string]float64{}
	for d := json.NewDecoder(in); ; rounds++ {
		var round map[string]any
		if err := d.Decode(&round); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("round %d: %w", rounds+1, err)
		}
		for name, value := range round {
			if n, ok := value.(float64); ok {
				totals[name] += n
			}
		}
	}
	fmt.Fprintf(out, "%8d rounds\n", rounds)
	for _, name := range slices.SortedFunc(maps.Keys(totals), cmp.Compare) {
		fmt.Fprintf(out, "%8.0f %s\n", totals[name], name)
	}
	return nil
}
