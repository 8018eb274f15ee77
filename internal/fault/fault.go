// Package fault types errors by whose fault they were, because each calls for
// something else: a guest's failure is a result of the measurement, a host's
// failure is infrastructure to fix and retry, and a campaign's is refused
// before anything runs.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is whose fault an error was.
type Kind int

const (
	// Internal is a defect in tare, or an error without a kind.
	Internal Kind = iota
	// Campaign is the user's input: the campaign file, a flag, a run file.
	Campaign
	// Host is the machine that tare runs on: missing tools, rights, space.
	Host
	// Guest is the measured system or what runs in it: a crash, a hang, invalid
	// messages. It is a result, not a reason to stop.
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

// Error is an error with its kind and, if one is known, a remedy.
type Error struct {
	Kind   Kind
	Err    error
	Remedy string // what the user can do about it; a sentence or a command
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n  to fix: " + e.Remedy
}

func (e *Error) Unwrap() error { return e.Err }

// Campaignf returns an error of the kind Campaign: wrong input.
func Campaignf(format string, args ...any) error {
	return &Error{Kind: Campaign, Err: fmt.Errorf(format, args...)}
}

// Hostf returns an error of the kind Host.
func Hostf(format string, args ...any) error {
	return &Error{Kind: Host, Err: fmt.Errorf(format, args...)}
}

// Guestf returns an error of the kind Guest: a guest, or what ran in it, failed.
func Guestf(format string, args ...any) error {
	return &Error{Kind: Guest, Err: fmt.Errorf(format, args...)}
}

// WithRemedy adds a remedy to err and keeps its kind; nil stays nil.
func WithRemedy(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Err: err, Remedy: fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of the outermost *Error in err's chain, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// OneLine words an error and its remedy in one line.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n  ", "; ") }

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
