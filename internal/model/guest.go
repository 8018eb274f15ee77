package model

// GuestID identifies a guest of a campaign. The scenarios of an arm share its
// guests: the first one runs alone in solo, and is the first of four.
type GuestID struct {
	Of         string `json:"of"` // arm, without the scenario
	FlavorName string `json:"flavor"`
	Neighbour  bool   `json:"neighbour,omitempty"`
	Apart      bool   `json:"apart,omitempty"` // a neighbour with other CPUs than the guest
	// Partner: the guest is an end of pairs that differs from the arm's guests:
	// it has another flavor or, with Host, consists of processes on the host.
	Partner bool `json:"partner,omitempty"`
	Host    bool `json:"host,omitempty"`
	Slot    int  `json:"slot,omitempty"` // number among the guests that are alike in all this, from 0
}
