package view

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPlainJSON(t *testing.T) {
	const text = "a\x7f\u0085\u009b31m\u202e\x1b\n\tä"
	encoded, err := json.Marshal(map[string]string{"text": text, "bad": "x\xffy"})
	if err != nil {
		t.Fatal(err)
	}
	plain := PlainJSON(encoded)
	if strings.ContainsFunc(string(plain), Unseen) {
		t.Errorf("%q", plain)
	}
	var back map[string]string
	if err := json.Unmarshal(plain, &back); err != nil || back["text"] != text {
		t.Errorf("%q, %v", back, err)
	}
	if raw := PlainJSON([]byte("{\"a\": \"x\xffy\"}")); string(raw) != "{\"a\": \"x\ufffdy\"}" {
		t.Errorf("invalid UTF-8: %q", raw)
	}
}

// TestCells: no cell begins like a formula, and numbers are none.
func TestCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "lxc": "lxc", "=1+1": "'=1+1", "+1": "'+1", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": "␍=1", "a\x1b[2J": "a␛[2J", "two\nlines": "two\nlines",
	} {
		if got := CSVCell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
