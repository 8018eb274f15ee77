package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put := func(text string, err error) error {
		return Replace(path, 0o640, func(f *os.File) error {
			_, wrote := f.WriteString(text)
			return errors.Join(wrote, err)
		})
	}
	if err := put("one", nil); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := put("two", failed); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
		t.Errorf("after a write that failed: %q, %v", got, err)
	}
	if err := put("three", nil); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode() != 0o640 || st.Size() != 5 {
		t.Errorf("%v, %v", st, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if sum, err := Sum(path); err != nil || sum != "8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f" {
		t.Errorf("sum %s, %v", sum, err)
	}
}

// TestKilledWriter: what a writer that was killed has left is removed by the next one, and what belongs to a living
// one, or to somebody else, is kept.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{part + "1", ".tare-notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(name string, write func(*os.File) error) {
		t.Helper()
		if err := Replace(filepath.Join(dir, name), 0o600, write); err != nil {
			t.Error(err)
		}
	}
	nothing := func(*os.File) error { return nil }
	replace("slow", func(*os.File) error {
		replace("fast", nothing)
		return nil
	})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".tare-notes", "fast", "slow"}; !slices.Equal(left, want) {
		t.Errorf("the folder has %v, not %v", left, want)
	}
}

// TestManyWriters: writers of one folder do not take each other's files for leftovers.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				err := Replace(filepath.Join(dir, fmt.Sprint(i%4)), 0o600, func(f *os.File) error {
					_, err := f.WriteString("whole")
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("left: %v, %v", left, err)
	}
}
