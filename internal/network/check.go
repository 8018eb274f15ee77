package network

import "errors"

// Check makes a network of this mode with both kinds of ports, and leaves
// nothing of it: the error says why this host cannot.
func Check(id, mode string) error {
	if mode == None || mode == User {
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
