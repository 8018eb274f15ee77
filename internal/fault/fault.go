// Package fault types errors by whose fault they were, because each calls for
// something else: a guest's failure is a result of the measurement, a host's
// failure is infrastructure to mend and retry, and a campaign's is refused
// before anything runs.
package fault

import (
	"errors"
	"fmt"
)

// Kind says whose fault an error was.
type Kind int

const (
	// Internal is a defect in tare, or an error nobody typed.
	Internal Kind = iota
	// Campaign is the user's input: the campaign file, a flag, a run file.
	Campaign
	// Host is the machine that tare runs on: missing tools, rights, space.
	Host
	// Guest is the measured system or what runs in it: a crash, a hang,
	// nonsense on the wire. It is a result, not a reason to stop.
	Guest
)

func (k Kind) String() string {
	switch k {
	case Campaign:
		return "campaign"
	case Host:
		return "host"
	case Guest:
		return "guest"
	}
	return "internal"
}

// Error is an error with its fault and, where one is known, the remedy.
type Error struct {
	Kind   Kind
	Err    error
	Remedy string // what the user can do about it; a sentence or a command
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n  to mend: " + e.Remedy
}

func (e *Error) Unwrap() error { return e.Err }

// Campaignf reports wrong input.
func Campaignf(format string, args ...any) error {
	return &Error{Kind: Campaign, Err: fmt.Errorf(format, args...)}
}

// Hostf reports something wrong with the host.
func Hostf(format string, args ...any) error {
	return &Error{Kind: Host, Err: fmt.Errorf(format, args...)}
}

// Guestf reports a failure of a guest or of what ran in it.
func Guestf(format string, args ...any) error {
	return &Error{Kind: Guest, Err: fmt.Errorf(format, args...)}
}

// WithRemedy adds what to do about err; it keeps err's kind.
func WithRemedy(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Err: err, Remedy: fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of the outermost typed error in err's chain.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// RemedyOf returns the first remedy in err's chain, or "".
func RemedyOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Remedy != "" {
			return e.Remedy
		}
		err = e.Err
	}
	return ""
}
