// Package terminal connects this process's terminal, if it has one, to a shell elsewhere.
package terminal

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/fault"
)

// Terminal describes standard input.
type Terminal struct {
	Rows, Columns string
	Kind          string // value for the variable TERM
	// Is reports whether standard input is a terminal.
	Is bool

	old *term.State
}

// Raw puts the terminal into raw mode, in which keys are passed on as they are typed, until
// Restore. Without a terminal it does nothing, and the size is 24 by 80.
func Raw() (*Terminal, error) {
	t := &Terminal{Rows: "24", Columns: "80", Kind: os.Getenv("TERM")}
	if t.Kind == "" {
		t.Kind = "dumb"
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return t, nil
	}
	t.Is = true
	if w, h, err := term.GetSize(in); err == nil {
		t.Rows, t.Columns = fmt.Sprint(h), fmt.Sprint(w)
	}
	var err error
	if t.old, err = term.MakeRaw(in); err != nil {
		return nil, fault.Hostf("the terminal: %w", err)
	}
	return t, nil
}

// Restore restores the terminal's previous mode.
func (t *Terminal) Restore() {
	if t.old != nil {
		_ = term.Restore(int(os.Stdin.Fd()), t.old) // fails only if the terminal is gone
	}
}
