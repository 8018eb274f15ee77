// Package runc runs guests as OCI containers with runc.
package runc

import (
	"context"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/oci"
)

// Driver is the system "runc".
type Driver struct{}

func (Driver) Name() string                      { return "runc" }
func (Driver) Capabilities() system.Capabilities { return oci.Capabilities() }

func (Driver) Check(ctx context.Context, _ *system.Host) system.Status {
	return oci.Check(ctx, "runc")
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	return oci.Run(s, "runc")
}
