package cgroup

import "errors"

// ErrUnknown is returned in place of a usage that nothing on this host can
// tell: of a machine that somebody else runs. It is not zero.
var ErrUnknown = errors.New("this host cannot measure it")
