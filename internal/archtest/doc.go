// Package archtest has no code, only tests: they keep the rules of
// ARCHITECTURE.md that a compiler does not know.
package archtest
