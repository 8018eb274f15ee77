//go:build !race

package analyze

const raced = false
