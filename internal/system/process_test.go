package system

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var whole bytes.Buffer
	tail := &Tail{}
	for i := range 20000 {
		line := fmt.Sprintln("line", i)
		whole.WriteString(line)
		if n, err := tail.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		if i == 10 && tail.String() != whole.String() {
			t.Errorf("a short log: %q", tail)
		}
	}
	kept, ok := strings.CutPrefix(tail.String(), "[…]")
	if !ok || len(kept) != tailBytes || !strings.HasSuffix(whole.String(), kept) {
		t.Errorf("%d bytes kept, marked as cut: %v", len(kept), ok)
	}
	tail.Write(bytes.Repeat([]byte("x"), 3*tailBytes)) // at once
	if got := tail.String(); got != "[…]"+strings.Repeat("x", tailBytes) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestLastLines(t *testing.T) {
	for want, got := range map[string]string{"b\nc": lastLines("a\nb\nc", 2), "a": lastLines("a", 2),
		"": lastLines("", 2)} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
