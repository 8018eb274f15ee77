package qemu

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

const greeting = `{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 1}, "package": "Debian"}, "capabilities": []}}`

// speak returns a stream whose other end sends the first line, and then another one for each line
// that it reads.
func speak(t *testing.T, lines ...string) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		in := bufio.NewScanner(theirs)
		for _, line := range lines {
			if fmt.Fprintln(theirs, line); !in.Scan() {
				return
			}
		}
	}()
	t.Cleanup(func() { ours.Close() })
	return ours
}

func TestMonitor(t *testing.T) {
	m, err := newMonitor(t.Context(),
		speak(t, greeting, `{"return": {}}`, `{"event": "STOP"}`+"\n"+`{"return": {"running": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	var st struct{ Running bool }
	if err := m.execute(t.Context(), "query-status", nil, &st); err != nil || !st.Running {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestMonitorThatMisbehaves(t *testing.T) {
	for name, reply := range map[string]string{
		"text":          "login:",
		"a refusal":     `{"error": {"class": "GenericError", "desc": "no"}}`,
		"another type":  `{"return": [1]}`,
		"a long line":   strings.Repeat("x", 1<<20),
		"another shape": `{"return": {"running": "perhaps"}}`,
	} {
		m, err := newMonitor(t.Context(), speak(t, greeting, `{"return": {}}`, reply))
		if err != nil {
			t.Fatal(err)
		}
		var st struct{ Running bool }
		if err := m.execute(t.Context(), "query-status", nil, &st); fault.KindOf(err) != fault.Guest {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	silent, _ := net.Pipe()
	for name, conn := range map[string]net.Conn{"silence": silent, "no greeting": speak(t, `{"return": {}}`),
		"nothing": speak(t)} {
		if _, err := newMonitor(ctx, conn); fault.KindOf(err) != fault.Guest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
