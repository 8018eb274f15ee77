package model

// GuestID identifies a guest of a campaign. The scenarios of an arm share its
// guests: the first one runs alone in solo, and is the first of four.
type GuestID struct {
	Of         string `json:"of"` // arm, without the scenario
	FlavorName string `json:"flavor"`
	Neighbour  bool   `json:"neighbour,omitempty"`
	Apart      bool   `json:"apart,omitempty"` // a neighbour with other CPUs than the guest
	// Partner: the guest is an end of pairs that differs from the arm's guests:
	// it has another flavor, consists of processes on the host (Host), or is another machine (Machine).
	Partner bool `json:"partner,omitempty"`
	Host    bool `json:"host,omitempty"`
	// Machine is the address of the other machine that this end of pairs is; "": it is on this host.
	Machine string `json:"machine,omitempty"`
	Slot    int    `json:"slot,omitempty"` // number among the guests that are alike in all this, from 0
}

// Outside reports whether it is no guest: processes of the host, or another machine.
func (g GuestID) Outside() bool { return g.Host || g.Machine != "" }

// Role is what a guest does in a trial: one of the constants, or Stressing a resource. Run files and exports
// have it under the name "stress".
type Role string

const (
	// Working: it runs the workload.
	Working Role = ""
	// Serving: it is the server of the workload that its partner runs.
	Serving Role = "serving"
	// Answering: it is the host's end for a neighbour on the network.
	Answering Role = "answering"
)

// Stressing is the role of a neighbour that stresses a resource.
func Stressing(resource string) Role { return Role(resource) }

// Stresses returns the resource that a neighbour stresses, and false for other guests.
func (r Role) Stresses() (resource string, ok bool) {
	switch r {
	case Working, Serving, Answering:
		return "", false
	}
	return string(r), true
}
