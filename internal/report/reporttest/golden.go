package reporttest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var long = regexp.MustCompile(`-?\d+\.\d{6,}(e[+-]\d+)?|-?\d\.\d+e[+-]\d+`)

// Golden compares text with a file in testdata, or writes the file. Long figures have five digits there: processors
// differ in the last ones of a logarithm.
func Golden(t *testing.T, update bool, name string, text []byte) {
	t.Helper()
	text = long.ReplaceAllFunc(text, func(figure []byte) []byte {
		v, err := strconv.ParseFloat(string(figure), 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.AppendFloat(nil, v, 'g', 5, 64)
	})
	path := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s is not as it was; -update writes it anew:\n%s", path, text)
	}
}
