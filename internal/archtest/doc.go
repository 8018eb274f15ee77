// Package archtest has no code, only tests. They check the rules of ARCHITECTURE.md that a compiler
// does not.
package archtest
