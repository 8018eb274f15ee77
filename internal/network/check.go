package network

import (
	"errors"

	"github.com/tare-bench/tare/internal/model"
)

// Check makes a network of this mode with both kinds of ports and removes it again. The error says
// why this host does not support the mode.
func Check(mode string) error {
	if mode == model.NetworkNone {
		return nil
	}
	b := NewBridge()
	var errs []error
	if mode == model.NetworkUser {
		p, err := b.UserPort()
		if err != nil {
			return errors.Join(err, b.Close())
		}
		return errors.Join(p.Close(), b.Close())
	}
	for _, plug := range []func(string) (*Port, error){
		b.NamespacePort, func(mode string) (*Port, error) { return b.TapPort(mode, 0, 1) },
	} {
		p, err := plug(mode)
		if err != nil {
			errs = append(errs, err)
			break
		}
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, b.Close())...)
}
