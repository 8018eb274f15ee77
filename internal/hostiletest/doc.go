// Package hostiletest has no code, only tests: the real program reads hostile run files. They start no guest, so they
// need not wait for the tests that do.
package hostiletest
