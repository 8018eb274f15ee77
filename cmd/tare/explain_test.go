package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
)

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	if r := tare(t, dir, "explain"); r.status != 0 || !strings.Contains(r.stdout, "cached-writes") {
		t.Errorf("the list: %+v", r)
	}
	if r := tare(t, dir, "explain", "cached-writes"); r.status != 0 || !strings.Contains(r.stdout, "## How it is found") {
		t.Errorf("a page: %+v", r)
	}
	if r := tare(t, dir, "explain", "incarnations-differ"); r.status != 0 ||
		!strings.Contains(r.stdout, "`guests-differ`") {
		t.Errorf("the older code of a page: %+v", r)
	}
	if r := tare(t, dir, "explain", "cached-write"); r.status != exitCampaign ||
		!strings.Contains(r.stderr, `"cached-writes"`) {
		t.Errorf("a misspelt one: %+v", r)
	}
	var kinds []struct{ ID, Severity, Headline, Remedy string }
	r := tare(t, dir, "explain", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &kinds); err != nil || len(kinds) < 20 || kinds[0].Remedy == "" {
		t.Errorf("%v: %+v", err, r)
	}
}

// TestSymptoms: every symptom has findings, pages and a command that exist, and is found by its name and in other
// words.
func TestSymptoms(t *testing.T) {
	for _, s := range symptoms {
		for _, code := range s.Codes {
			if _, ok := analyze.FindKind(code); !ok || findings.Page(code) == "" {
				t.Errorf("%s: there is no finding %s", s.Name, code)
			}
		}
		for _, page := range s.Pages {
			if _, err := os.Stat("../../" + page); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		for _, command := range strings.Split(s.Command, " && ") {
			root := newRoot()
			c, rest, err := root.Find(strings.Fields(command)[1:])
			if err != nil || c == root || c.ParseFlags(rest) != nil {
				t.Errorf("%s: %q is no command: %v", s.Name, command, err)
			}
		}
	}
	for description, name := range map[string]string{
		"guest faster than host": "guest faster than host", "my VM beats bare metal": "guest faster than host",
		"disk too fast": "disk too fast", "write throughput is impossible": "disk too fast",
		"numbers change every run": "numbers change every run", "results vary": "numbers change every run",
		"slower after reboot": "slower after reboot", "slower since the kernel update": "slower after reboot",
		"same guest, other results": "same guest, other results",
	} {
		if fit := symptomsOf(description); len(fit) != 1 || fit[0].Name != name {
			t.Errorf("%q: %+v", description, fit)
		}
	}
	if fit := symptomsOf("purple elephants"); fit != nil {
		t.Errorf("%+v", fit)
	}
	dir := t.TempDir()
	r := tare(t, dir, "explain", "guest", "faster", "than", "host")
	if r.status != 0 || !strings.Contains(r.stdout, "`guest-clock`") || !strings.Contains(r.stdout, "tare run quick") {
		t.Errorf("%+v", r)
	}
	if r := tare(t, dir, "explain", "--json", "disk too fast"); r.status != 0 || !strings.Contains(r.stdout, `"cached-writes"`) {
		t.Errorf("%+v", r)
	}
	if r := tare(t, dir, "explain", "purple elephants"); r.status != exitCampaign {
		t.Errorf("%+v", r)
	}
}
