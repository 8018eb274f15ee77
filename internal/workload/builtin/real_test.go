package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/workload"
)

// TestRealTools runs every workload at its smallest size with the tools of
// this machine.
func TestRealTools(t *testing.T) {
	if testing.Short() {
		t.Skip("runs real tools")
	}
	source := sync.OnceValue(func() string { return fakeKernel(t) })
	for _, w := range All() {
		if slices.ContainsFunc(w.Trial(w.MinSize, ""), func(s workload.Step) bool { return s.Background }) {
			continue // servers run in guests only: cmd/tare's TestServices
		}
		if w.Fill != nil {
			continue // its programs run in the guests that it creates: cmd/tare's TestFill
		}
		t.Run(w.Name, func(t *testing.T) {
			if w.NonFree && os.Getenv("TARE_NON_FREE") == "" {
				t.Skip("TARE_NON_FREE does not say that its program, in Debian's non-free, is here")
			}
			if w.OwnBuild {
				env := "TARE_BUILD_" + strings.ToUpper(strings.ReplaceAll(w.Name, "-", "_"))
				path := os.Getenv(env)
				if path == "" {
					t.Skipf("%s names no build of its program", env)
				}
				w = w.Built(path)
			}
			for _, tool := range w.Programs {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			dir := t.TempDir()
			openToNobody(t, dir)
			size := w.MinSize
			switch w.Name {
			case "untar-kernel":
				w, size = untarKernel(source()), kernelPieces+2
			case "cpio-read":
				w, size = cpioRead(source()), 20
			case "tar-create":
				w, size = tarCreate(source()), 20
			case "zstd":
				w, size = zstd(source()), 1
			case "git-clone":
				w, size = gitCloning(source()), 20
			}
			// Run it twice: the remains of one trial must not affect the next.
			if (w.Name == "bonnie" || w.Name == "file-ops") && !*update {
				t.Skip("takes many seconds, whatever its size: cmd/tare's TestServices runs it")
			}
			for range 2 {
				rs := runSteps(t, dir, w.Steps(size))
				m, err := w.Evaluate(size, rs)
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					record(t, w.Name, size, rs)
				}
				checkComplete(t, w, m)
				t.Logf("%v", m)
			}
			var kept workload.Kept
			if w.Keeps != nil {
				kept = w.Keeps(size)
			}
			left, err := os.ReadDir(dir)
			left = slices.DeleteFunc(left, func(f os.DirEntry) bool {
				return kept.Name != "" && strings.HasPrefix(f.Name(), kept.Name)
			})
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("untar-kernel spoiled", func(t *testing.T) {
		src := fakeKernel(t)
		w := untarKernel(src)
		if err := os.WriteFile(filepath.Join(src, "MANIFEST"), []byte("# head\n000 3 6\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := w.Evaluate(1, runSteps(t, t.TempDir(), w.Steps(1)))
		checkRefused(t, m, err, []string{"2 of 3 files"})
	})
}

// openToNobody gives other users access to a test's temporary directory.
func openToNobody(t *testing.T, dir string) {
	for d := dir; d != os.TempDir() && d != filepath.Dir(d); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func runSteps(t *testing.T, dir string, steps []workload.Step) []workload.StepResult {
	var rs []workload.StepResult
	for _, s := range steps {
		cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		start := time.Now()
		err := cmd.Run()
		r := workload.StepResult{Name: s.Name, Wall: time.Since(start), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		r.ExitCode = cmd.ProcessState.ExitCode()
		rs = append(rs, r)
		if r.ExitCode != 0 {
			break
		}
	}
	return rs
}

// fakeKernel creates almost empty pieces with the layout of the userland image.
func fakeKernel(t *testing.T) string {
	src, work := t.TempDir(), t.TempDir()
	manifest := "# piece, files and links, bytes\n"
	for i := range kernelPieces {
		sub := fmt.Sprintf("linux/dir%d", i%5)
		if err := os.MkdirAll(filepath.Join(work, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		file, link := fmt.Sprintf("%s/file%d", sub, i), fmt.Sprintf("%s/link%d", sub, i)
		if err := os.WriteFile(filepath.Join(work, file), []byte("hello\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", filepath.Join(work, link)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("tar", "czf", fmt.Sprintf("%s/%03d.tar.gz", src, i), "-C", work, file, link)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("tar: %v: %s", err, out)
		}
		manifest += fmt.Sprintf("%03d 2 6\n", i)
	}
	if err := os.WriteFile(filepath.Join(src, "MANIFEST"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return src
}

// TestKeptFiles destroys the files that a trial left, in each way that a later trial must notice.
func TestKeptFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("runs real tools")
	}
	w, err := mustGet(t, "tio-seqread").With("tio-seqread", map[string]string{"threads": "2"})
	if err != nil {
		t.Fatal(err)
	}
	dir, size := t.TempDir(), w.MinSize
	kept := w.Keeps(size)
	files := w.Steps(size)[:1]
	lay := func() (made []time.Time) {
		if rs := runSteps(t, dir, files); rs[0].ExitCode != 0 {
			t.Fatalf("%s", rs[0].Stderr)
		}
		var sum int64
		for i := range 2 {
			f, err := os.Stat(fmt.Sprintf("%s/%s.%d", dir, kept.Name, i))
			if err != nil {
				t.Fatal(err)
			}
			made, sum = append(made, f.ModTime()), sum+f.Size()
		}
		if sum != kept.Bytes {
			t.Errorf("the files have %d bytes, not %d", sum, kept.Bytes)
		}
		return made
	}
	before := lay()
	if again := lay(); !slices.Equal(before, again) {
		t.Errorf("whole files were made again")
	}
	first := fmt.Sprintf("%s/%s.0", dir, kept.Name)
	for what, destroy := range map[string]func() error{
		"missing": func() error { return os.Remove(first) },
		"short":   func() error { return os.Truncate(first, 4096) },
		"a hole": func() error {
			return errors.Join(os.Truncate(first, 0), os.Truncate(first, kept.Bytes/2))
		},
		"half laid": func() error { return os.Rename(first, fmt.Sprintf("%s/%s.part", dir, kept.Name)) },
	} {
		before := lay()
		if err := destroy(); err != nil {
			t.Fatal(err)
		}
		after := lay()
		if after[0].Equal(before[0]) || !after[1].Equal(before[1]) {
			t.Errorf("%s: made %v, then %v", what, before, after)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
			t.Errorf("%s: left are %v, %v", what, left, err)
		}
	}
}
