package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/paper"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPaperGoldens makes the tables and the page of every article from runs of `tare
// paper run`, and the CSV of each run. The run files lack the programs' output, the command lines and
// what identifies machines. Their figures come from a busy machine: they are goldens
// of the report only.
func TestPaperGoldens(t *testing.T) {
	for _, a := range paper.All() {
		name := a.Document.Name
		t.Run(name, func(t *testing.T) {
			golden := absolute(filepath.Join("testdata", "papers", name))
			packed, _ := filepath.Glob(filepath.Join(golden, "*.tare.gz"))
			if len(packed) == 0 {
				t.Fatalf("no runs in %s", golden)
			}
			dir := t.TempDir()
			var runs []string
			for _, p := range packed {
				run := strings.TrimSuffix(filepath.Base(p), ".gz")
				if err := os.WriteFile(filepath.Join(dir, run), unpack(t, p), 0o644); err != nil {
					t.Fatal(err)
				}
				runs = append(runs, run)
				r := tare(t, dir, "export", run, "--format", "csv")
				if r.status != 0 {
					t.Fatal(r.stderr)
				}
				csv := filepath.Join(golden, strings.TrimSuffix(run, ".tare")+".csv.gz")
				if *update {
					pack(t, csv, r.stdout)
				}
				if r.stdout != string(unpack(t, csv)) {
					t.Errorf("%s: the export is not that of %s; -update rewrites it", run, csv)
				}
			}
			r := tare(t, dir, "paper", "show", name, "--run", strings.Join(runs, ","))
			checkGolden(t, filepath.Join(golden, "tables.txt"), r)
			// The page in the documentation is made from the same runs.
			r = tare(t, dir, "paper", "report", name, "--run", strings.Join(runs, ","))
			checkGolden(t, absolute(filepath.Join("..", "..", "docs", "results", name+".md")), r)
		})
	}
}

// checkGolden compares what a command printed with a file.
func checkGolden(t *testing.T, path string, r result) {
	t.Helper()
	if r.status != 0 {
		t.Fatal(r.stderr)
	}
	if *update {
		if err := os.WriteFile(path, []byte(r.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.stdout != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, r.stdout, want)
	}
}

func unpack(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pack(t *testing.T, path, text string) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(z, text)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
