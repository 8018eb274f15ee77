package claim

// Words are what is said for a verdict. NotResolved has none of its own: what is known is said instead, which is how
// much it is at most.
type Words map[Verdict]string

// The words for a cost, for the change of a cost, and for the change of a baseline's own figures.
var (
	CostWords     = Words{Costs: "costs", Gains: "gains"}
	ChangeWords   = Words{Costs: "costs more", Gains: "costs less", None: "the same"}
	BaselineWords = Words{Costs: "worse", Gains: "better", None: "the same"}
)
