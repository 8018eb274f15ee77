package model

import (
	"fmt"
	"strings"
)

// Confinement is what keeps root in a guest that shares the host's kernel from the host, besides
// namespaces and limits, as the kernel reports it for a process of the guest.
type Confinement struct {
	// Capabilities are those that a process of the guest can ever have, as in "net_raw".
	Capabilities   []string `json:"capabilities"`
	NoNewPrivs     bool     `json:"no_new_privs"`    // programs cannot gain privileges by setuid bits
	SeccompFilters int      `json:"seccomp_filters"` // that every system call passes
	// SecurityModule is the label of AppArmor or SELinux; "": none, or it allows everything.
	SecurityModule string `json:"security_module,omitempty"`
}

// String names the parts, those first that take time in every system call.
func (c Confinement) String() string {
	parts := []string{c.PerCall()}
	if c.NoNewPrivs {
		parts = append(parts, "no_new_privs")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d capabilities", len(c.Capabilities))), ", ")
}

// PerCall names only those parts that take time in every system call.
func (c Confinement) PerCall() string {
	seccomp := "no seccomp"
	switch c.SeccompFilters {
	case 0:
	case 1:
		seccomp = "seccomp"
	default:
		seccomp = fmt.Sprintf("seccomp (%d filters)", c.SeccompFilters)
	}
	if c.SecurityModule != "" {
		return seccomp + ", " + c.SecurityModule
	}
	return seccomp
}
