package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
)

// The campaigns in the documentation are valid.
func TestDocumentedCampaigns(t *testing.T) {
	for _, page := range []string{"../../docs/workloads.md", "../../docs/networks.md", "../../README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s shows none", page)
		}
		for _, m := range found {
			if !bytes.Contains(m[1], []byte("arms:")) {
				continue // a part of one
			}
			checkCampaign(t, page, m[1])
		}
	}
}

// The campaign files in campaigns/ and the built-in ones are valid, including their options.
func TestShippedCampaigns(t *testing.T) {
	files, err := filepath.Glob("../../campaigns/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkCampaign(t, file, text)
	}
	for _, name := range campaign.BuiltinNames() {
		text, err := campaign.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		checkCampaign(t, name, text)
	}
}

func checkCampaign(t *testing.T, file string, text []byte) {
	t.Helper()
	c, err := campaign.Parse(file, text, experiment.KnownAnywhere())
	built := func(w campaign.Workload) bool { return w.Build != "" } // on the user's machine
	if err == nil && !slices.ContainsFunc(c.Workloads, built) {
		_, err = experiment.SourceOf(t.Context(), t.TempDir(), c)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestCoverage: each row of the page about what the five articles did is counted. What is done today is shown by
// commands that exist, with valid campaigns, and what is not says what is missing.
func TestCoverage(t *testing.T) {
	page, err := os.ReadFile("../../docs/articles/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	shown := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \| (yes|partly|no) \| (.*) \|$`).FindAllSubmatch(page, -1) {
		said[string(row[2])]++
		commands := regexp.MustCompile("`tare ([^`]+)`").FindAllSubmatch(row[3], -1)
		switch {
		case string(row[2]) == "yes" && len(commands) == 0:
			t.Errorf("no command shows %q", row[1])
		case len(row[3]) == 0:
			t.Errorf("%q does not say what is missing", row[1])
		}
		for _, c := range commands {
			shown[string(c[1])] = true
		}
	}
	yes, partly, no := said["yes"], said["partly"], said["no"]
	total := fmt.Sprintf("Of %d rows, %d say yes, %d partly and %d no.", yes+partly+no, yes, partly, no)
	if !bytes.Contains(page, []byte(total)) {
		t.Errorf("the page does not say: %s", total)
	}
	for line := range shown {
		words := strings.Fields(line)
		if err := accepts(words); err != nil {
			t.Errorf("tare %s: %v", line, err)
			continue
		}
		switch words[0] {
		case "run":
			text, err := os.ReadFile(filepath.Join("../..", words[1]))
			if err != nil {
				t.Error(err)
				continue
			}
			checkCampaign(t, words[1], text)
		case "explain", "paper": // which read no run and make no guest, unless it is paper run
			if words[1] == "run" {
				words = []string{"paper", "show", words[2]}
			}
			if shown := tare(t, t.TempDir(), words...); shown.status != 0 {
				t.Errorf("tare %s: %s", line, shown.stderr)
			}
		}
	}
}
