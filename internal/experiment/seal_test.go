package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

const ownYAML = `name: own
arms: [native, {system: lxc, if_usable: true}]
workloads:
  - {name: mine, prepare: [mkfs, /dev/sda], command: [sh, -c, "rm -rf /"],
     metrics: [{name: n, unit: x, better: lower, regex: '(1)'}]}
`

// sealedRun writes a run of ownYAML with the seal of a state directory, and returns its
// documents. Without a directory, it has no seal.
func sealedRun(t *testing.T, path, stateDir string, change func(docs map[string][]byte)) {
	t.Helper()
	c, err := campaign.Parse("own.yaml", []byte(ownYAML), KnownAnywhere())
	if err != nil {
		t.Fatal(err)
	}
	planned, err := json.Marshal(c.Planned())
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string][]byte{
		store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(ownYAML), store.DocArms: planned,
		store.DocUserland: []byte(`{"key": "0"}`),
	}
	if stateDir != "" {
		docs[store.DocSeal], err = seal(stateDir, func(name string) ([]byte, error) { return docs[name], nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	change(docs)
	r, err := store.Create(path, docs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSeal: what a run file executes is believed only if it is as this tare wrote it.
func TestSeal(t *testing.T) {
	state, other := filepath.Join(t.TempDir(), "state"), t.TempDir()
	none := func(map[string][]byte) {}
	replace := func(name, old, new string) func(map[string][]byte) {
		return func(docs map[string][]byte) {
			text := strings.Replace(string(docs[name]), old, new, 1)
			if text == string(docs[name]) {
				t.Fatalf("%s has no %q", name, old)
			}
			docs[name] = []byte(text)
		}
	}
	for name, c := range map[string]struct {
		stateDir string
		change   func(map[string][]byte)
		ok       bool
	}{
		"own":                {state, none, true},
		"an unsealed part":   {state, func(d map[string][]byte) { d[store.DocEnvironment] = []byte("{}") }, true},
		"of another machine": {other, none, false},
		"without a seal":     {"", none, false},
		"another command":    {state, replace(store.DocCampaign, "rm -rf", "rm -rF"), false},
		"another text":       {state, replace(store.DocCampaignYAML, "own", "oWn"), false},
		"other arms":         {state, replace(store.DocArms, "lxc", "kvm"), false},
		"no arms":            {state, func(d map[string][]byte) { delete(d, store.DocArms) }, false},
		"another image":      {state, replace(store.DocUserland, "0", "1"), false},
		"part of the seal":   {state, func(d map[string][]byte) { d[store.DocSeal] = d[store.DocSeal][:16] }, false},
		"an empty seal":      {state, func(d map[string][]byte) { d[store.DocSeal] = nil }, false},
		"parts that move over": {state, func(d map[string][]byte) {
			d[store.DocCampaign] = append(d[store.DocCampaign], d[store.DocCampaignYAML][0])
			d[store.DocCampaignYAML] = d[store.DocCampaignYAML][1:]
		}, false},
	} {
		path := filepath.Join(t.TempDir(), "run.tare")
		sealedRun(t, path, c.stateDir, func(docs map[string][]byte) {
			c.change(docs)
			if docs[store.DocSeal] == nil {
				delete(docs, store.DocSeal)
			}
		})
		r, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		err = checkSeal(state, r, "tare resume --trust run.tare")
		r.Close()
		if c.ok {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Campaign {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "without a seal" {
			for _, want := range []string{
				`command: ["sh" "-c" "rm -rf /"]`, `prepare: ["mkfs" "/dev/sda"]`, "tare resume --trust",
			} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the refusal does not show %q: %v", want, err)
				}
			}
		}
	}
	st, err := os.Stat(filepath.Join(state, "seal.key"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", st, err)
	}
	if entries, _ := os.ReadDir(state); len(entries) != 1 {
		t.Errorf("in the state directory: %v", entries)
	}

	// The same goes for a run that is like another one.
	path := filepath.Join(t.TempDir(), "run.tare")
	sealedRun(t, path, other, none)
	_, err = ReadLikeness(t.Context(), path, state, false)
	if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), "rm -rf /") {
		t.Errorf("like a foreign run: %v", err)
	}
	if _, err := ReadLikeness(t.Context(), path, state, true); err != nil {
		t.Errorf("like a foreign run that is trusted: %v", err)
	}
	if _, err := ReadLikeness(t.Context(), path, other, false); err != nil {
		t.Errorf("like an own run: %v", err)
	}
	if err := os.WriteFile(filepath.Join(state, "seal.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLikeness(t.Context(), path, state, false); fault.KindOf(err) != fault.Host {
		t.Errorf("with an empty key: %v", err)
	}
}
