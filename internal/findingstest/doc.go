// Package findingstest has no code, only tests: they cause real problems, in guests and on this
// host, and look for the findings.
package findingstest
