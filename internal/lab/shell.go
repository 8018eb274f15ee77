package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/terminal"
)

// shellScript runs a shell on a new terminal that is connected to the machine's second port. $1 is
// the port's name, $2 and $3 are the terminal's rows and columns, and $4 is its type.
const shellScript = `
for name in /sys/class/virtio-ports/*/name; do
	if [ "$(cat "$name")" = "$1" ]; then port=/dev/$(basename "$(dirname "$name")"); fi
done
export TERM="$4" ROWS="$2" COLS="$3"
exec script -qfc 'stty rows $ROWS cols $COLS; exec bash -i' /dev/null <>"$port" >&0 2>&1`

// Shell connects this process's terminal, or its standard input and output, to a shell in the lab
// until the shell ends.
func (l *Lab) Shell(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", l.path(shellPort))
	if err != nil {
		return fault.Hostf("the lab's shell: %w", err)
	}
	defer conn.Close()
	tty, err := terminal.Raw()
	if err != nil {
		return err
	}
	defer tty.Restore()
	go io.Copy(conn, os.Stdin)
	shown := make(chan struct{})
	go func() {
		io.Copy(os.Stdout, conn)
		close(shown)
	}()
	r, err := l.Run(ctx, agent.Command{
		Argv: []string{"sh", "-c", shellScript, "sh", shellPort, tty.Rows, tty.Columns, tty.Kind},
		Env:  append([]string{"PS1=lab:\\w# "}, Env...), Dir: "/root",
	})
	select { // the last output
	case <-shown:
	case <-time.After(200 * time.Millisecond):
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if r != nil && len(r.Stderr) > 0 { // the shell's own output is not here
		return fault.Hostf("the lab's shell: %s", r.Stderr)
	}
	return nil
}
