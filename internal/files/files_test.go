package files

import (
	"errors"
	"os"
	"path/filepath"
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
