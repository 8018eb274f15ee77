// Package runc runs guests as OCI containers with runc.
package runc

import "github.com/tare-bench/tare/internal/system/oci"

// Driver is the system "runc".
var Driver = oci.Runtime{Program: "runc"}
