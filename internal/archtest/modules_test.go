package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoReplace: replace and exclude directives apply only in this checkout, and break
// `go install …/cmd/tare@latest`.
func TestNoReplace(t *testing.T) {
	var mod struct{ Replace, Exclude []any }
	if err := json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace)+len(mod.Exclude) > 0 {
		t.Errorf("go.mod has replace or exclude lines: %v %v", mod.Replace, mod.Exclude)
	}
}

// licences are the licences allowed for code that an Apache-2.0 program links, recognized by parts
// of their text.
var licences = []struct {
	name string
	text *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,? Version 2\.0`)},
	{"MIT", regexp.MustCompile(
		`Permission is hereby granted, free of charge, to any person obtaining a copy of this software`)},
	{"BSD", regexp.MustCompile(
		`Redistribution and use in source and binary forms, with or without( >)? modification, are permitted`)},
	{"ISC", regexp.MustCompile(
		`Permission to use, copy, modify, and/?(or)? ?distribute this software for any purpose with or without fee is hereby granted`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? Version 2\.0`)},
}

// copyleft matches licences that no linked code may have, whatever else their text says.
var copyleft = regexp.MustCompile(`GNU (LESSER |AFFERO )?GENERAL PUBLIC LICENSE`)

// TestLicences checks the licence of every module that one of the programs links.
func TestLicences(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range goList(t, "-deps", "./cmd/...") {
		m := p.Module
		if p.Standard || m == nil || m.Main || seen[m.Path] {
			continue
		}
		seen[m.Path] = true
		name, err := licence(m.Dir)
		if err != nil {
			t.Errorf("%s %s: %v", m.Path, m.Version, err)
		} else if name == "" {
			t.Errorf("%s %s: its licence is not one of those that this test allows", m.Path, m.Version)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d modules found", len(seen))
	}
}

// licence returns the name of the licence in a module's directory, "" if it is not allowed.
func licence(dir string) (string, error) {
	var text []byte
	err := os.ErrNotExist
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "license.md", "LICENCE", "COPYING"} {
		if text, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			break
		}
	}
	if err != nil {
		return "", err
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	if copyleft.MatchString(words) {
		return "", nil
	}
	for _, l := range licences {
		if l.text.MatchString(words) {
			return l.name, nil
		}
	}
	return "", nil
}

func TestLicenceTexts(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                    "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE\nor Apache License Version 2.0":                                       "",
		"All rights reserved.":                                                                            "",
		"Mozilla Public License Version 2.0\n====":                                                        "MPL-2.0",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted": "BSD",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := licence(dir); got != want || err != nil {
			t.Errorf("%q: %q, %v, not %q", text, got, err, want)
		}
	}
	if _, err := licence(t.TempDir()); err == nil {
		t.Error("no licence at all is no error")
	}
}
