//go:build race

package analyze

// raced: the race detector makes simulations ten times slower.
const raced = true
