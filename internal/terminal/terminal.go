// Package terminal hands this process's terminal, if it has one, to a shell
// that runs elsewhere.
package terminal

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/tare-bench/tare/internal/fault"
)

// Terminal is what standard input is.
type Terminal struct {
	Rows, Columns string
	Kind          string // for the variable TERM
	// Is says whether there is a terminal at all.
	Is bool

	old *term.State
}

// Raw passes keys on as they are typed, until Restore. Without a terminal it
// does nothing, and the size is a guess.
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

// Restore makes the terminal what it was.
func (t *Terminal) Restore() {
	if t.old != nil {
		_ = term.Restore(int(os.Stdin.Fd()), t.old) // it is gone, then
	}
}
