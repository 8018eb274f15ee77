package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNuttcpRefused: a client whose connection is refused is started again, twice at most, and one that fails in
// another way is not.
func TestNuttcpRefused(t *testing.T) {
	dir := t.TempDir()
	// It fails as FAILS says as often as TIMES says, and notes every call.
	fake := `#!/bin/sh
echo "$*" >>"$CALLS"
[ "$(wc -l <"$CALLS")" -gt "$TIMES" ] && { echo megabytes=1; exit 0; }
echo "nuttcp-t: v6.1.2: Error: connect: $FAILS" >&2
exit 1
`
	if err := os.WriteFile(filepath.Join(dir, "nuttcp"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fails string
		times string
		calls int
		good  bool
	}{
		{"Connection refused", "0", 1, true}, {"Connection refused", "2", 3, true}, {"Connection refused", "3", 3, false},
		{"No route to host", "1", 1, false},
	} {
		calls := filepath.Join(t.TempDir(), "calls")
		argv := sh(nuttcpClient, "nuttcp", "-t", "server")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "CALLS=" + calls, "FAILS=" + c.fails, "TIMES=" + c.times}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		noted, _ := os.ReadFile(calls)
		if got := strings.Count(string(noted), "-t server\n"); got != c.calls || (err == nil) != c.good {
			t.Errorf("%+v: %d calls, %v", c, got, err)
		}
		if c.good != (string(out) == "megabytes=1\n") || c.good == strings.Contains(stderr.String(), c.fails) {
			t.Errorf("%+v: stdout %q, stderr %q", c, out, stderr.String())
		}
	}
}
