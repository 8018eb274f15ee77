package page

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// muchExcess is from which excess on a cell has the stronger colour.
const muchExcess = 1.5

// heat is the class of a cell of the isolation matrix. Only what is resolved, and guests that never finish, have a
// colour.
func heat(c report.MatrixCell) string {
	switch {
	case !c.Known:
		return ""
	case c.Unfinished, c.Verdict == analyze.Costs && c.Ratio >= muchExcess:
		return "costs much"
	case c.Verdict == analyze.Costs:
		return "costs"
	case c.Verdict == analyze.Gains:
		return "gains"
	}
	return "open"
}
