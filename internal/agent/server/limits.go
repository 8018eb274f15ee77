package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
)

// LimitedMode is the first argument that makes the agent set limits on itself and then execute
// another program.
const LimitedMode = "limited"

// limitedArgv returns the command line for LimitedMode: the limits as resource:soft:hard joined by
// commas, the program's path, and its argv.
func limitedArgv(limits []*wire.Rlimit, path string, argv []string) []string {
	words := make([]string, len(limits))
	for i, l := range limits {
		words[i] = fmt.Sprintf("%d:%d:%d", l.Resource, l.Soft, l.Hard)
	}
	return append([]string{"tare-agent", LimitedMode, strings.Join(words, ","), path}, argv...)
}

// ExecLimited does what limitedArgv asks for; args are the arguments after LimitedMode. It returns
// only on error.
func ExecLimited(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("%s: want limits, path and argv, got %q", LimitedMode, args)
	}
	for _, word := range strings.Split(args[0], ",") {
		var n [3]uint64
		parts := strings.Split(word, ":")
		if len(parts) != len(n) {
			return fmt.Errorf("%s: limit %q is not resource:soft:hard", LimitedMode, word)
		}
		for i, p := range parts {
			v, err := strconv.ParseUint(p, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: limit %q: %v", LimitedMode, word, err)
			}
			n[i] = v
		}
		if err := unix.Setrlimit(int(n[0]), &unix.Rlimit{Cur: n[1], Max: n[2]}); err != nil {
			return fmt.Errorf("%s: limit %q: %v", LimitedMode, word, err)
		}
	}
	if err := syscall.Exec(args[1], args[2:], os.Environ()); err != nil {
		return fmt.Errorf("%s: %v", args[1], err)
	}
	return nil
}
