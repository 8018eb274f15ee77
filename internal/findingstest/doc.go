// Package findingstest has no code, only tests: they plant the causes of
// findings for real, in guests and on this host, and look for the findings.
package findingstest
