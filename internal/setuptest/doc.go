// Package setuptest has no code, only tests. They run scripts/setup on hosts that work for others, and look for what
// changed there.
package setuptest
