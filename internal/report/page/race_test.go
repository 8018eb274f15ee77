//go:build race

package page

func init() { raced = true }
