package keeper

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/terminal"
)

// consoleScript runs a shell on a new terminal. The shell reads from a named pipe, $1, since agents
// take no input while a command runs: typed keys arrive by separate commands. $2 and $3 are the
// terminal's rows and columns, $4 is its type. Machines have no terminals at first, so it mounts
// devpts if necessary.
const consoleScript = `
[ -e /dev/pts/ptmx ] || { mkdir -p /dev/pts && mount -t devpts -o ptmxmode=666 devpts /dev/pts; }
mkfifo -m 600 "$1" && trap 'rm -f "$1"' EXIT || exit
export TERM="$4" ROWS="$2" COLS="$3" HOME=/root
script -qfc 'stty rows $ROWS cols $COLS; exec bash -i' /dev/null <>"$1" 2>&1`

// typeScript waits for the shell's pipe and writes its input there.
const typeScript = `
for i in $(seq 200); do if [ -p "$1" ]; then exec cat >"$1"; fi; sleep 0.05; done; exit 1`

const endOfInput = "\x04"

// Console connects this process's terminal, or its standard input and output, to a shell in the
// guest until the shell ends.
func (c *Client) Console(ctx context.Context) error {
	tty, err := terminal.Raw()
	if err != nil {
		return err
	}
	defer tty.Restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pipe := "/tmp/.tare-console-" + rand.Text()
	go c.typed(ctx, pipe)
	r, err := c.Run(ctx, agent.Command{
		Argv:     []string{"bash", "-c", consoleScript, "bash", pipe, tty.Rows, tty.Columns, tty.Kind},
		Env:      system.AgentEnv,
		OnOutput: func(_ bool, data []byte) { os.Stdout.Write(data) },
	})
	if err != nil {
		return err
	}
	if r.ExitCode == 127 {
		return fault.Guestf("the guest lacks the program script, which makes a terminal")
	}
	return nil
}

// typed forwards standard input to the shell that reads from pipe.
func (c *Client) typed(ctx context.Context, pipe string) {
	send := func(data []byte) error {
		_, err := c.Run(ctx, agent.Command{Argv: []string{"sh", "-c", typeScript, "sh", pipe}, Stdin: data,
			Env: system.AgentEnv, Dir: "/"})
		return err
	}
	for buf := make([]byte, 16<<10); ; {
		n, err := os.Stdin.Read(buf)
		if n > 0 && send(buf[:n]) != nil {
			return
		}
		if err == io.EOF {
			// A terminal drops it while a command starts or ends, so repeat it until the shell has
			// ended, which ends this, too.
			for send([]byte(endOfInput)) == nil {
				time.Sleep(time.Second)
			}
		}
		if err != nil {
			return
		}
	}
}
