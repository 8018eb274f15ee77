package archtest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// maxLines is the maximum length of a file, so that a reader can keep it in mind.
const maxLines = 500

// source is a Go file that was not generated.
type source struct {
	name string // relative to the top of the checkout
	file *ast.File
	fset *token.FileSet
}

func (s source) at(p token.Pos) string {
	return s.name + ":" + strings.TrimPrefix(s.fset.Position(p).String(), s.fset.Position(p).Filename+":")
}

// sources parses the Go files of all packages, without tests and generated files.
func sources(t *testing.T, within string) []source {
	t.Helper()
	var list []source
	for _, p := range modulePackages(t) {
		if !matches(within+"/...", p.short()) {
			continue
		}
		for _, f := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if !ast.IsGenerated(file) {
				list = append(list, source{p.short() + "/" + f, file, fset})
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("no sources in %s", within)
	}
	return list
}

func TestFilesAreShort(t *testing.T) {
	for _, dir := range []string{"cmd", "internal", "scripts"} {
		for _, s := range sources(t, dir) {
			if n := s.fset.Position(s.file.FileEnd).Line; n > maxLines {
				t.Errorf("%s has %d lines, more than %d: split it by subject", s.name, n, maxLines)
			}
		}
	}
}

// TestExportedIsDocumented: exported functions, types, constants and variables have a doc comment.
// Methods may be explained by the interface that they implement, and members of a group by the
// group.
func TestExportedIsDocumented(t *testing.T) {
	for _, s := range sources(t, "internal") {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() && d.Doc == nil {
					t.Errorf("%s: %s has no doc comment", s.at(d.Pos()), d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					checkSpec(t, s, d, spec)
				}
			}
		}
	}
}

func checkSpec(t *testing.T, s source, d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
			t.Errorf("%s: %s has no doc comment", s.at(spec.Pos()), spec.Name)
		}
	case *ast.ValueSpec:
		// A constant of a named type is explained by that type.
		if d.Doc != nil || spec.Doc != nil || spec.Comment != nil || spec.Type != nil || d.Lparen.IsValid() &&
			d.Tok == token.CONST {
			return
		}
		if i := slices.IndexFunc(spec.Names, (*ast.Ident).IsExported); i >= 0 {
			t.Errorf("%s: %s has no doc comment", s.at(spec.Pos()), spec.Names[i])
		}
	}
}

// TestUnracedStartNothing: the packages that make test runs without the race detector start no goroutine.
func TestUnracedStartNothing(t *testing.T) {
	text, err := os.ReadFile("../../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^unraced="(.+)"$`).FindSubmatch(text)
	if list == nil {
		t.Fatal("scripts/test has no list of packages without the race detector")
	}
	for _, room := range strings.Fields(string(list[1])) {
		for _, s := range sources(t, "internal/"+room) {
			if filepath.Dir(s.name) != "internal/"+room {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				call, isCall := n.(*ast.CallExpr)
				_, starts := n.(*ast.GoStmt)
				if isCall {
					method, ok := call.Fun.(*ast.SelectorExpr)
					starts = ok && method.Sel.Name == "Go" // of a sync.WaitGroup or its like
				}
				if starts {
					t.Errorf("%s starts a goroutine, so scripts/test must run %s with the race detector", s.at(n.Pos()), room)
				}
				return true
			})
		}
	}
}

// TestNoClockNoChance: results of these packages depend only on their input. Randomness comes from
// the run's seed.
func TestNoClockNoChance(t *testing.T) {
	forbidden := map[string][]string{
		"time":      {"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "Local"},
		"math/rand": {"*"},
		"math/rand/v2": {"Int", "IntN", "Int64", "Int64N", "Uint32", "Uint64", "Uint64N", "Float64", "Float32", "Perm",
			"Shuffle", "N", "NormFloat64", "ExpFloat64"},
	}
	for _, room := range []string{"plan", "stats", "claim", "analyze"} {
		for _, s := range sources(t, "internal/"+room) {
			names := map[string][]string{}
			for _, imp := range s.file.Imports {
				p := strings.Trim(imp.Path.Value, `"`)
				if bad, ok := forbidden[p]; ok {
					name := filepath.Base(strings.TrimSuffix(p, "/v2"))
					if imp.Name != nil {
						name = imp.Name.Name
					}
					names[name] = bad
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && (slices.Contains(names[x.Name], sel.Sel.Name) ||
					slices.Contains(names[x.Name], "*")) {
					t.Errorf("%s: %s.%s: %s is pure", s.at(sel.Pos()), x.Name, sel.Sel.Name, room)
				}
				return true
			})
		}
	}
}

// eachFile calls f with every file of the checkout, without those that were built or fetched or
// belong to another tool.
func eachFile(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		if d.IsDir() {
			if name == ".git" || name == "bin" || name == "out" {
				return fs.SkipDir
			}
			return nil
		}
		if st, err := d.Info(); err != nil || !st.Mode().IsRegular() || st.Size() > 4<<20 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(name), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoDevelopersPaths: no file contains a path of a developer's machine.
func TestNoDevelopersPaths(t *testing.T) {
	bad := []*regexp.Regexp{regexp.MustCompile(`/home/[a-z][a-z0-9_-]*/|/Users/[A-Za-z]`)}
	if top := filepath.ToSlash(root(t)); strings.Count(top, "/") >= 2 { // short ones such as /src may occur in texts
		bad = append(bad, regexp.MustCompile(regexp.QuoteMeta(top)+`\b`))
	}
	eachFile(t, func(name string, text []byte) {
		// Fixtures may contain paths of other machines, and this package contains the patterns.
		if bytes.IndexByte(text, 0) >= 0 || strings.Contains(name, "testdata/") ||
			strings.HasPrefix(name, "internal/archtest/") {
			return
		}
		for _, re := range bad {
			if loc := re.FindIndex(text); loc != nil {
				t.Errorf("%s:%d: a path of one machine: %s", name, 1+bytes.Count(text[:loc[0]], []byte("\n")), text[loc[0]:loc[1]])
			}
		}
	})
}

// TestDataFilesParse: every YAML and JSON file is valid, except fixtures.
func TestDataFilesParse(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		if strings.Contains(name, "testdata/") {
			return
		}
		switch filepath.Ext(name) {
		case ".json":
			if !json.Valid(text) {
				t.Errorf("%s is not JSON", name)
			}
		case ".yaml", ".yml":
			var v any
			if err := yaml.Unmarshal(text, &v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
