package network

import (
	"errors"

	"github.com/tare-bench/tare/internal/model"
)

// Check makes a network of this mode with both kinds of ports and removes it again. The error says
// why this host does not support the mode.
func Check(id, mode string) error {
	if mode == model.NetworkNone || mode == model.NetworkUser {
		return nil
	}
	b := NewBridge(id)
	var errs []error
	for _, plug := range []func(string) (*Port, error){b.NamespacePort, b.TapPort} {
		p, err := plug(mode)
		if err != nil {
			errs = append(errs, err)
			break
		}
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, b.Close())...)
}
