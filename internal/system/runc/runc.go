// Package runc runs guests as OCI containers with runc, and saves and restores them with CRIU.
package runc

import (
	"context"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Driver is the system "runc".
var Driver = driver{oci.Runtime{Program: "runc"}}

type driver struct{ oci.Runtime }

func (d driver) Capabilities() system.Capabilities {
	caps := d.Runtime.Capabilities()
	caps.Save, caps.NoSave = "CRIU", ""
	return caps
}

func (d driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	g, err := d.Run(s)
	if err != nil {
		return nil, err
	}
	return &guest{GroupGuest: g, runtime: d.Runtime, site: s}, nil
}
