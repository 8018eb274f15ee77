package cgroup

import "errors"

// ErrUnknown is returned for a usage that cannot be measured on this host, such as that of a remote
// machine. It does not mean zero.
var ErrUnknown = errors.New("this host cannot measure it")
