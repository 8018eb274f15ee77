//go:build !amd64

package host

import "errors"

func cpuidVendor() (string, error) { return "", errors.New("only x86 has it") }
