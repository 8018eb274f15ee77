// Package nearest finds the word that was probably meant by a misspelled one.
package nearest

import "strings"

// Nearest returns the member of among with the fewest edits from word, or "" if none is near enough
// to suggest. It ignores case. Of equally near members it returns the first.
func Nearest(word string, among []string) string {
	w := strings.ToLower(word)
	best, bestDist := "", 0
	for _, candidate := range among {
		c := strings.ToLower(candidate)
		d := distance(w, c)
		// A prefix was probably cut short rather than misspelled: "openssl" for "openssl-enc".
		if len(w) >= 3 && strings.HasPrefix(c, w) {
			d = min(d, 1)
		}
		if d > limit(w, c) {
			continue
		}
		if best == "" || d < bestDist {
			best, bestDist = candidate, d
		}
	}
	return best
}

// limit is the largest distance at which a reader would still take a for b.
func limit(a, b string) int {
	return max(1, max(len(a), len(b))/3)
}

// distance is the optimal string alignment distance: insertions, deletions,
// replacements and swaps of two neighbours cost one each.
func distance(s, t string) int {
	a, b := []rune(s), []rune(t)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
