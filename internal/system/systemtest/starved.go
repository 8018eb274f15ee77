package systemtest

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/system"
)

// testStarved creates and closes guests while this process can open only a few more files, so that
// a different step fails each time. Whatever fails, nothing may be left.
func testStarved(t *testing.T, d system.Driver, h *system.Host) {
	// A daemon must be up: it would have the same limit, for ever.
	first := launch(t, d, h, "starved-0", Request())
	defer first.Close()
	before := snapshot(t, h)
	spare := []uint64{1, 4, 8, 14}
	if os.Getenv("TARE_SOAK") != "" {
		spare = nil
		for n := range uint64(40) {
			spare = append(spare, n)
		}
	}
	failed := 0
	for _, n := range spare {
		err := starved(t, d, h, n)
		if err != nil {
			failed++
		}
		for _, line := range settle(t, h, before) {
			t.Errorf("with %d more files: left behind: %s, after %v", n, line, err)
		}
		if t.Failed() {
			return
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// starved creates and closes a guest while only n more files can be opened.
func starved(t *testing.T, d system.Driver, h *system.Host, n uint64) error {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: uint64(openFiles()) + n, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	return createAndClose(t, d, h, "starved", time.Minute)
}
