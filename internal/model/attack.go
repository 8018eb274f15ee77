package model

// What a guest attacks: the limit of one of its own resources.
const (
	AttackMemory    = "memory"
	AttackProcesses = "processes"
	AttackDisk      = "disk"
)

// Attacks are all of them.
var Attacks = []string{AttackMemory, AttackProcesses, AttackDisk}

// AttackSeconds is how long an attack may take.
const AttackSeconds = 3

// Attack is what came of an attack of one guest of an arm on one of its limits, with
// another guest of the arm beside it.
type Attack struct {
	Arm    string `json:"arm"`
	System string `json:"system"`
	On     string `json:"on"` // one of Attacks
	// Limit is what the guest may have: bytes of memory, processes on the host, bytes of its data volume.
	Limit float64 `json:"limit"`
	// Took is the most that it had while it attacked: bytes charged to its control group and its processes on the
	// host, by the host's count, or the bytes that it wrote to its volume. 0: not known.
	Took float64 `json:"took,omitzero"`
	// Stopped: the guest got no more. Died: it could not be used any more. Said is what the attack printed.
	Stopped bool   `json:"stopped"`
	Died    bool   `json:"died,omitempty"`
	Said    string `json:"said,omitempty"`
	// Alone and Beside are how long a fixed piece of work takes in the other guest, in s: before the attack, and
	// during it (medians). Lost is why it was not finished during the attack; "": it was.
	Alone  float64 `json:"alone_s,omitzero"`
	Beside float64 `json:"beside_s,omitzero"`
	Lost   string  `json:"lost,omitempty"`
}

// Held says whether a limit held.
type Held string

const (
	HeldYes     Held = "yes"
	HeldNo      Held = "no"
	HeldUnknown Held = "unknown" // the attack did not reach the limit, or what it took is not known
)

const (
	// attackSlack and attackOwn are what a guest may have beyond its limit of memory: a virtual machine is given its
	// memory by a process that needs some itself.
	attackSlack, attackOwn = 1.25, 128 << 20
	// attackEnough is the share of the limit that a guest that was not stopped must have had, to have reached it.
	attackEnough = 0.9
)

// Held says whether the limit held. A guest that was stopped below its limit was stopped by another one, which is good
// enough for its neighbours.
func (a Attack) Held() Held {
	most := a.Limit
	if a.On == AttackMemory {
		most = attackSlack*a.Limit + attackOwn
	}
	switch {
	case a.Took > most:
		return HeldNo
	case a.Took == 0, !a.Stopped && !a.Died && a.Took < attackEnough*a.Limit:
		return HeldUnknown
	}
	return HeldYes
}
