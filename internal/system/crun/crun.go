// Package crun runs guests as OCI containers with crun.
package crun

import "github.com/tare-bench/tare/internal/system/oci"

// Driver is the system "crun".
var Driver = oci.Runtime{Program: "crun", NoHybrid: true}
