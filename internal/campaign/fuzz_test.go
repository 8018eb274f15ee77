package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/strict"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	for _, pattern := range []string{"testdata/bad/*.yaml", "builtin/*.yaml", "testdata/*.json"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	known := lab()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range []Known{known, {}} {
			c, err := Parse("fuzz.yaml", text, k)
			if err == nil {
				checkResolved(t, c)
				continue
			}
			var all strict.Errors
			if fault.KindOf(err) != fault.Campaign || !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("an error of the wrong kind: %v", err)
			}
			for _, p := range all {
				if p.Line < 1 || p.Col < 1 || p.Msg == "" {
					t.Fatalf("a problem without its place: %+v", p)
				}
			}
		}
	})
}
