package main

import (
	"encoding/json"
	"strings"
	"testing"
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
