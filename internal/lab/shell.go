package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
)

// shellScript runs a shell on a terminal of its own behind the machine's second
// port. $1 is the port's name, $2 and $3 are the terminal's size.
const shellScript = `
for name in /sys/class/virtio-ports/*/name; do
	if [ "$(cat "$name")" = "$1" ]; then port=/dev/$(basename "$(dirname "$name")"); fi
done
export TERM="$4" ROWS="$2" COLS="$3"
exec script -qfc 'stty rows $ROWS cols $COLS; exec bash -i' /dev/null <>"$port" >&0 2>&1`

// Shell connects this process's terminal, or its standard input and output, to
// a shell in the lab, until that ends.
func (l *Lab) Shell(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", l.path(shellPort))
	if err != nil {
		return fault.Hostf("the lab's shell: %w", err)
	}
	defer conn.Close()
	rows, cols := "24", "80"
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		if w, h, err := term.GetSize(in); err == nil {
			rows, cols = fmt.Sprint(h), fmt.Sprint(w)
		}
		old, err := term.MakeRaw(in)
		if err != nil {
			return fault.Hostf("the terminal: %w", err)
		}
		defer term.Restore(in, old)
	}
	go io.Copy(conn, os.Stdin)
	shown := make(chan struct{})
	go func() {
		io.Copy(os.Stdout, conn)
		close(shown)
	}()
	r, err := l.Run(ctx, agent.Command{
		Argv: []string{"sh", "-c", shellScript, "sh", shellPort, rows, cols, terminal()},
		Env:  append([]string{"PS1=lab:\\w# "}, Env...), Dir: "/root",
	})
	select { // what was said last
	case <-shown:
	case <-time.After(200 * time.Millisecond):
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if r != nil && len(r.Stderr) > 0 { // the shell itself says nothing here
		return fault.Hostf("the lab's shell: %s", r.Stderr)
	}
	return nil
}

func terminal() string {
	if t := os.Getenv("TERM"); t != "" {
		return t
	}
	return "dumb"
}
