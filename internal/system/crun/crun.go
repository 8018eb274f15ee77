// Package crun runs guests as OCI containers with crun.
package crun

import (
	"context"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Driver is the system "crun".
type Driver struct{}

func (Driver) Name() string                      { return "crun" }
func (Driver) Capabilities() system.Capabilities { return oci.Capabilities() }

func (Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	return oci.Check(ctx, "crun")
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	return oci.Run(s, "crun", s.Group.Layout().Hybrid()...)
}
