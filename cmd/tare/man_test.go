package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManual: each command that users see has a page, with its flags, and tables keep their lines.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	root := newRoot()
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	page := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() != strings.Contains(page("tare"), "tare-"+c.Name()+"(1)") {
			t.Errorf("tare(1) and %s: hidden is %v", c.Name(), c.Hidden)
		}
		if c.IsAvailableCommand() && !strings.Contains(page("tare-"+c.Name()), ".SH DESCRIPTION") {
			t.Errorf("tare-%s(1) describes nothing:\n%s", c.Name(), page("tare-"+c.Name()))
		}
	}
	for _, want := range []string{"\n  0  success\n  1  a defect in tare\n", ".EX\n"} {
		if !strings.Contains(page("tare"), want) {
			t.Errorf("tare(1) lacks %q:\n%s", want, page("tare"))
		}
	}
	if text := page("tare-run"); !strings.Contains(text, `\fB--precision\fP`) || strings.Contains(text, "spf13") {
		t.Errorf("tare-run(1):\n%s", text)
	}
	const help = "Names have a * or an <a>.\n\n  a  b\n"
	if got, want := markdownOf(help), "Names have a \\* or an \\<a\\>.\n\n\n```\n  a  b\n\n```\n"; got != want {
		t.Errorf("%q becomes %q, want %q", help, got, want)
	}
}
