package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/model"
)

// Arm is an arm of the plan, in one scenario.
type Arm struct {
	Name      string       `json:"name"`
	System    string       `json:"system"`
	Flavor    model.Flavor `json:"flavor"`
	Scenario  string       `json:"scenario"`
	ControlOf string       `json:"control_of,omitempty"` // "": not a control
	Emulated  bool         `json:"emulated,omitempty"`
}

// Metric is a quantity that trials have values of: a metric or a probe.
type Metric struct {
	Workload string
	Name     string
	Unit     string
	Better   string // lower or higher; "" for a probe
	Primary  bool
	Probe    bool
}

// Attempt is a trial about to be made.
type Attempt struct {
	Session    int64
	Guest      int64 // 0: it did not start
	Block      int
	Position   int
	Workload   string
	Arm        int
	Generation int
	Size       int64
	Member     int // number of the guest in the trial, from 0
	Role       model.Role
}

// GuestFlavor is what a guest was given: its flavor, which may be of another system than its arm.
type GuestFlavor struct {
	model.Flavor
	// System is that of the guest if it differs from its arm's, as for the host's end of a pair; else "".
	System string `json:"system,omitempty"`
	// Confinement is how the host's kernel confined the guest; nil: not known, or it has its own kernel.
	Confinement *model.Confinement `json:"confinement,omitempty"`
}

// Names of the values of guests, all in bytes. Those of an idle guest are read
// when it has just been created; MemoryAfter is read before it ends.
const (
	MemoryPSS     = "memory_pss"     // proportional set size of all its processes
	MemoryCharged = "memory_charged" // charged to its control group, page cache included
	MemoryHost    = "memory_host"    // decrease of the host's available memory during creation
	MemoryAfter   = "memory_after"   // MemoryPSS after its last trial, when it had returned freed memory
)

// Status is how an attempt ended.
type Status string

const (
	Done   Status = "done"
	Failed Status = "failed" // the guest's fault: a result
	Void   Status = "void"   // the host's fault: the trial is repeated
	// Discarded is a warm-up trial, which begins a group and does not count.
	Discarded Status = "discarded"
	// Repeat is a trial made once more right after itself, without freezing the
	// guest in between. It only serves to show what a thaw costs.
	Repeat Status = "repeat"
	// Duet is a trial that other arms made at once on the same CPUs. Its CPU time counts, not its duration.
	Duet Status = "duet"
	// Interrupted attempts have no outcome in the file.
	Interrupted Status = "interrupted"
)

// Outcome is the result of an attempt.
type Outcome struct {
	Status Status
	Error  string
	Clock  agent.Clock
	Log    string
	Steps  []Step
	Values map[int]float64 // by metric id
	// Latencies are the encoded single latencies of the metric LatencyOf; nil: there are none.
	Latencies []byte
	LatencyOf int
}

// Step is one command of a trial.
type Step struct {
	Name   string
	Timed  bool
	Argv   []string
	Result *agent.Result
}

// BeginSession records that tare begins to work on the run, and returns the id of
// the session.
func (r *Run) BeginSession(bootID, version string) (int64, error) {
	res, err := r.db.Exec("INSERT INTO session (began_unix_ns, boot_id, version) VALUES (?, ?, ?)", unixNano(), bootID,
		version)
	if err != nil {
		return 0, r.explain(err)
	}
	id, err := res.LastInsertId()
	return id, r.explain(err)
}

// EnvironmentOf is the name of the document with the environment of one boot of
// the host, in a run with boots.
func EnvironmentOf(boot string) string { return DocEnvironment + "-" + boot }

// Describe adds a document to the run, unless it has one of that name.
func (r *Run) Describe(name string, body []byte) error {
	_, err := r.db.Exec("INSERT OR IGNORE INTO document VALUES (?, ?)", name, body)
	return r.explain(err)
}

// EndSession records that a session ended, and why.
func (r *Run) EndSession(id int64, reason string) error {
	_, err := r.db.Exec("INSERT INTO session_end VALUES (?, ?, ?)", id, unixNano(), reason)
	return r.explain(err)
}

// AddSize records the size of a workload's trials, in unit, and how it was found;
// calibration is stored as JSON.
func (r *Run) AddSize(workload string, size int64, unit string, calibration any) error {
	b, err := json.Marshal(calibration)
	if err != nil {
		return err
	}
	_, err = r.db.Exec("INSERT INTO size VALUES (?, ?, ?, ?)", workload, size, unit, string(b))
	return r.explain(err)
}

// AddGuest records a guest that an arm has created just now, and returns its id. The values of a guest are
// recorded by AddGuestValue.
func (r *Run) AddGuest(session int64, arm int, g Guest) (int64, error) {
	h, err1 := json.Marshal(g.Hello)
	c, err2 := json.Marshal(g.CommandLine)
	f, err3 := json.Marshal(g.Flavor)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}
	res, err := r.db.Exec("INSERT INTO guest (session, arm, epoch, made_unix_ns, start_ns, hello, command_line, flavor, "+
		"slot, neighbour) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		session, arm, g.Generation, unixNano(), g.StartNS, string(h), string(c), string(f), g.Slot, g.Neighbour)
	if err != nil {
		return 0, r.explain(err)
	}
	id, err := res.LastInsertId()
	return id, r.explain(err)
}

// AddGuestValue records a measurement of a guest outside of trials, such as its
// memory. A guest has one value of each name.
func (r *Run) AddGuestValue(guest int64, name, unit string, value float64) error {
	_, err := r.db.Exec("INSERT INTO guest_value VALUES (?, ?, ?, ?, ?)", guest, name, unit, value, unixNano())
	return r.explain(err)
}

// AddPass records a pass through the workloads before it begins; body is JSON.
func (r *Run) AddPass(number int, body []byte) error {
	_, err := r.db.Exec("INSERT INTO pass VALUES (?, ?)", number, string(body))
	return r.explain(err)
}

// Begin journals an attempt before it is made and returns its id.
func (r *Run) Begin(a Attempt) (int64, error) {
	ids, err := r.BeginAll([]Attempt{a})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// BeginAll journals the attempts of all members of a trial, in one transaction,
// before the trial is made. It returns their ids.
func (r *Run) BeginAll(attempts []Attempt) ([]int64, error) {
	tx, err := r.db.Begin()
	if err != nil {
		return nil, r.explain(err)
	}
	defer tx.Rollback()
	ids := make([]int64, len(attempts))
	for i, a := range attempts {
		res, err := tx.Exec("INSERT INTO attempt (session, guest, block, position, workload, arm, epoch, size, "+
			"began_unix_ns, member, stress) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			a.Session, sql.NullInt64{Int64: a.Guest, Valid: a.Guest != 0}, a.Block, a.Position, a.Workload, a.Arm, a.Generation,
			a.Size, unixNano(), a.Member, a.Role)
		if err == nil {
			ids[i], err = res.LastInsertId()
		}
		if err != nil {
			return nil, r.explain(err)
		}
	}
	return ids, r.explain(tx.Commit())
}

// Finish journals the outcome of an attempt in one transaction.
func (r *Run) Finish(attempt int64, o Outcome) error {
	return r.FinishAll([]int64{attempt}, []Outcome{o})
}

// FinishAll journals the outcomes of all attempts of a trial in one transaction.
func (r *Run) FinishAll(attempts []int64, outcomes []Outcome) error {
	tx, err := r.db.Begin()
	if err != nil {
		return r.explain(err)
	}
	defer tx.Rollback()
	for i, o := range outcomes {
		if r.format < singles {
			o.Latencies = nil
		}
		if err := finish(tx, attempts[i], o); err != nil {
			return r.explain(err)
		}
	}
	return r.explain(tx.Commit())
}

func finish(tx *sql.Tx, attempt int64, o Outcome) error {
	if _, err := tx.Exec("INSERT INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?)",
		attempt, o.Status, o.Error, unixNano(), int64(o.Clock.Offset), int64(o.Clock.Delay), o.Log); err != nil {
		return err
	}
	for i, s := range o.Steps {
		argv, err1 := json.Marshal(s.Argv)
		usage, err2 := json.Marshal(s.Result.Usage)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		x := s.Result
		if _, err := tx.Exec("INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			attempt, i, s.Name, s.Timed, string(argv), notNil(x.Stdout), notNil(x.Stderr), int64(x.StdoutBytes),
			int64(x.StderrBytes),
			x.ExitCode, int(x.Signal), x.TimedOut, x.HostStart, x.HostEnd, x.GuestStart, x.GuestEnd,
			x.GuestRealStart, x.GuestRealEnd, string(usage)); err != nil {
			return err
		}
	}
	if o.Latencies != nil {
		if _, err := tx.Exec("INSERT INTO latency VALUES (?, ?, ?)", attempt, o.LatencyOf, o.Latencies); err != nil {
			return err
		}
	}
	if len(o.Values) == 0 {
		return nil
	}
	// Use one statement: preparing it takes longer than executing it.
	var rows []any
	for metric, v := range o.Values {
		rows = append(rows, attempt, metric, v)
	}
	_, err := tx.Exec("INSERT INTO value VALUES (?, ?, ?)"+strings.Repeat(", (?, ?, ?)", len(o.Values)-1), rows...)
	return err
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// AddEvent records an event; attempt is 0 if no trial ran at the time.
func (r *Run) AddEvent(session, attempt int64, kind, text string) error {
	var a any
	if attempt != 0 {
		a = attempt
	}
	_, err := r.db.Exec("INSERT INTO event (session, attempt, at_unix_ns, kind, text) VALUES (?, ?, ?, ?, ?)", session, a,
		unixNano(), kind, text)
	return r.explain(err)
}
