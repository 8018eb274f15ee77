package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// Arms returns the arms in the order of the plan; the index of an arm is its id.
func (r *Run) Arms() ([]Arm, error) {
	return collect(r, "SELECT name, system, flavor, scenario, control, emulated FROM arm ORDER BY id",
		func(rows *sql.Rows) (a Arm, err error) {
			var flavor string
			if err := rows.Scan(&a.Name, &a.System, &flavor, &a.Scenario, &a.ControlOf, &a.Emulated); err != nil {
				return a, err
			}
			return a, json.Unmarshal([]byte(flavor), &a.Flavor)
		})
}

// Metrics returns the metrics and probes; the index of a metric is its id.
func (r *Run) Metrics() ([]Metric, error) {
	return collect(r, "SELECT workload, name, unit, better, is_first, is_probe FROM metric ORDER BY id",
		func(rows *sql.Rows) (m Metric, err error) {
			return m, rows.Scan(&m.Workload, &m.Name, &m.Unit, &m.Better, &m.Primary, &m.Probe)
		})
}

// Size is the amount of work in one trial of a workload.
type Size struct {
	Workload    string          `json:"workload"`
	Size        int64           `json:"size"`
	Unit        string          `json:"unit"`
	Calibration json.RawMessage `json:"calibration"`
}

// Sizes returns the sizes that were calibrated or given so far.
func (r *Run) Sizes() ([]Size, error) {
	return collect(r, "SELECT workload, size, unit, calibration FROM size ORDER BY rowid",
		func(rows *sql.Rows) (s Size, err error) {
			var c string
			err = rows.Scan(&s.Workload, &s.Size, &s.Unit, &c)
			if s.Calibration = json.RawMessage(c); err == nil && !json.Valid(s.Calibration) {
				err = fmt.Errorf("the calibration of %q is not JSON", s.Workload)
			}
			return s, err
		})
}

// Finished returns the trials that are done or failed, and the duets that are done, which a resumed run does not
// repeat.
func (r *Run) Finished() (map[model.TrialID]bool, error) {
	done := map[model.TrialID]bool{}
	err := eachRow(r.ctx, r.db, `SELECT a.block, a.workload, arm.name, o.status = 'duet'
		FROM attempt a JOIN outcome o ON o.attempt = a.id JOIN arm ON arm.id = a.arm
		WHERE o.status IN ('done', 'failed', 'duet')`,
		func(rows *sql.Rows) error {
			var id model.TrialID
			err := rows.Scan(&id.Block, &id.Workload, &id.Arm, &id.Duet)
			done[id] = true
			return err
		})
	return done, r.explainRead(err)
}

// Progress is how far a run is.
type Progress struct {
	Trials int // done or failed, which a resumed run does not repeat
	Block  int // the last that began, from 1; 0: none
	// Attempts at trials count once, however many guests take part. Warm-ups, repetitions and duets that have ended do
	// not count.
	Attempts int
}

// Progress returns how far the run is, whether or not it is in progress.
func (r *Run) Progress() (p Progress, err error) {
	finished, err := r.Finished()
	if err != nil {
		return p, err
	}
	for id := range finished {
		if !id.Duet {
			p.Trials++
		}
	}
	err = r.db.QueryRowContext(r.ctx, `SELECT coalesce(max(a.block) + 1, 0),
			count(CASE WHEN coalesce(o.status, '') NOT IN ('discarded', 'repeat', 'duet') THEN 1 END)
		FROM attempt a LEFT JOIN outcome o ON o.attempt = a.id WHERE `+r.since(2, "a.member", "0")+` = 0`).
		Scan(&p.Block, &p.Attempts)
	return p, r.explainRead(err)
}

// Passes returns the recorded passes in order, as JSON; the index of a pass is
// its number.
func (r *Run) Passes() ([]json.RawMessage, error) {
	if r.format < planned {
		return nil, nil
	}
	return collect(r, "SELECT body FROM pass ORDER BY number", func(rows *sql.Rows) (json.RawMessage, error) {
		var body string
		err := rows.Scan(&body)
		return json.RawMessage(body), err
	})
}

// Spent is the mean duration and the number of attempts of one arm and workload, in duets or in other trials.
type Spent struct {
	Workload, Arm string
	Duet          bool
	Mean          time.Duration
	N             int
}

// Spents returns the durations of all trials with an outcome, by the attempt of
// their first member: the time between its two entries in the journal.
func (r *Run) Spents() ([]Spent, error) {
	return collect(r, `SELECT a.workload, arm.name, o.status = 'duet', avg(o.ended_unix_ns - a.began_unix_ns), count(*)
		FROM attempt a JOIN outcome o ON o.attempt = a.id JOIN arm ON arm.id = a.arm WHERE `+r.since(2, "a.member", "0")+` = 0
		GROUP BY a.workload, arm.name, o.status = 'duet' ORDER BY min(a.id)`, func(rows *sql.Rows) (s Spent, err error) {
		var mean float64
		err = rows.Scan(&s.Workload, &s.Arm, &s.Duet, &mean, &s.N)
		s.Mean = time.Duration(mean)
		return s, err
	})
}

// GenerationInBoot returns the last generation that made a trial in this boot of the
// host; ok is false if there is none.
func (r *Run) GenerationInBoot(bootID string) (generation int, ok bool, err error) {
	var last sql.NullInt64
	err = r.db.QueryRowContext(r.ctx, "SELECT max(a.epoch) FROM attempt a JOIN session s ON s.id = a.session WHERE "+
		"s.boot_id = ?", bootID).Scan(&last)
	return int(last.Int64), last.Valid, r.explainRead(err)
}

// Elapsed is how long tare has worked on this run, over all sessions. A session
// that was killed counts until the last outcome in the journal.
func (r *Run) Elapsed() (time.Duration, error) {
	var ns sql.NullInt64
	err := r.db.QueryRowContext(r.ctx, `SELECT sum(max(coalesce(e.ended_unix_ns, s.began_unix_ns),
			coalesce((SELECT max(o.ended_unix_ns) FROM attempt a JOIN outcome o ON o.attempt = a.id WHERE a.session = s.id), 0)) - s.began_unix_ns)
		FROM session s LEFT JOIN session_end e ON e.session = s.id`).Scan(&ns)
	return time.Duration(ns.Int64), r.explainRead(err)
}

// Session is a period in which tare worked on the run without interruption.
type Session struct {
	ID      int64     `json:"id"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`   // zero: it was killed, or still runs
	Reason  string    `json:"reason,omitempty"` // why it ended
	BootID  string    `json:"boot_id"`          // of the host
	Version string    `json:"version"`          // of tare
}

// Sessions returns the sessions of the run in order.
func (r *Run) Sessions() ([]Session, error) {
	return collect(r, `SELECT s.id, s.began_unix_ns, e.ended_unix_ns, coalesce(e.reason, ''), s.boot_id, s.version
		FROM session s LEFT JOIN session_end e ON e.session = s.id ORDER BY s.id`,
		func(rows *sql.Rows) (s Session, err error) {
			var began int64
			var ended sql.NullInt64
			err = rows.Scan(&s.ID, &began, &ended, &s.Reason, &s.BootID, &s.Version)
			s.Began = time.Unix(0, began).UTC()
			if ended.Valid {
				s.Ended = time.Unix(0, ended.Int64).UTC()
			}
			return s, err
		})
}

// Guest is a guest that was created.
type Guest struct {
	ID          int64       `json:"id"`
	Arm         string      `json:"arm"`
	Generation  int         `json:"generation"` // counts the re-creations of the arm's guests
	Made        time.Time   `json:"made"`
	StartNS     int64       `json:"start_ns"` // until its agent answered
	Hello       agent.Hello `json:"hello"`    // what its agent reported
	CommandLine []string    `json:"command_line"`
	Flavor      GuestFlavor `json:"flavor"`
	Slot        int         `json:"slot"`                // among the guests of this arm, flavor and role, from 0
	Neighbour   bool        `json:"neighbour,omitempty"` // it only disturbs others
	// Values are the measurements of the guest outside of trials, by name.
	Values map[string]GuestValue `json:"values,omitempty"`
}

// GuestValue is a measurement of a guest outside of trials.
type GuestValue struct {
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Guests returns all guests in the order of their creation.
func (r *Run) Guests() ([]Guest, error) {
	guests, err := collect(r,
		`SELECT g.id, arm.name, arm.flavor, g.epoch, g.made_unix_ns, g.start_ns, g.hello, g.command_line, `+
			r.since(2, "g.flavor, g.slot, g.neighbour", "'', 0, 0")+` FROM guest g JOIN arm ON arm.id = g.arm ORDER BY g.id`,
		func(rows *sql.Rows) (g Guest, err error) {
			var made int64
			var hello, command, armFlavor, flavor string
			if err := rows.Scan(&g.ID, &g.Arm, &armFlavor, &g.Generation, &made, &g.StartNS, &hello, &command, &flavor, &g.Slot,
				&g.Neighbour); err != nil {
				return g, err
			}
			if flavor == "" {
				flavor = armFlavor
			}
			g.Made = time.Unix(0, made).UTC()
			return g, errors.Join(json.Unmarshal([]byte(hello), &g.Hello), json.Unmarshal([]byte(command), &g.CommandLine),
				json.Unmarshal([]byte(flavor), &g.Flavor))
		})
	if err != nil || r.format < 2 {
		return guests, err
	}
	byID := map[int64]*Guest{}
	for i := range guests {
		byID[guests[i].ID] = &guests[i]
	}
	err = eachRow(r.ctx, r.db, "SELECT guest, name, unit, value FROM guest_value", func(rows *sql.Rows) error {
		var id int64
		var name string
		var v GuestValue
		if err := rows.Scan(&id, &name, &v.Unit, &v.Value); err != nil {
			return err
		}
		g := byID[id]
		if g == nil {
			return fault.Campaignf("%s is damaged: it has a value of guest %d, which does not exist", r.path, id)
		}
		if g.Values == nil {
			g.Values = map[string]GuestValue{}
		}
		g.Values[name] = v
		return nil
	})
	return guests, r.explainRead(err)
}

// Event is an event on the host or in a guest that may affect the results.
type Event struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text"`
	// Attempt is the trial during which the event happened; 0: none. Workload
	// and Arm are those of the trial.
	Attempt  int64  `json:"attempt,omitempty"`
	Workload string `json:"workload,omitempty"`
	Arm      string `json:"arm,omitempty"`
}

// Kinds of events that say why a trial failed although all its commands succeeded.
const (
	EventWrongAnswer   = "wrong-answer"          // the work was not done, or done wrongly
	EventMemoryLimit   = "memory-limit"          // skipped: too little memory would stay available
	EventContradiction = "impossible-arithmetic" // the results of the tool contradict each other
)

// EventChanged says what had changed when the run was resumed, as in
// "microcode: "0x1" before, "0x2" now".
const EventChanged = "changed-midway"

// EventKSM says, at the end of a session, how much memory the merging of equal
// pages saved and what it cost.
const EventKSM = "ksm"

// EventPower says, at the start of a session, what power the host took before there were guests: "12.3 W: …".
// The text before the first space is a number.
const EventPower = "power-at-rest"

// EventFill says what a fill found at a number of guests, and which limits they broke.
const EventFill = "fill"

// EventOtherLoad names one process that belongs to no guest and used CPU time
// during trials: how many CPUs it used and what it belongs to, as in
// "1.03 CPUs: podman (pid 175), a daemon of arm podman". The text before the
// first ": " is a number and its unit.
const EventOtherLoad = "other-load"

// Events returns all events in order.
func (r *Run) Events() ([]Event, error) {
	return collect(r, `SELECT e.at_unix_ns, e.kind, e.text, coalesce(e.attempt, 0), coalesce(a.workload, ''), coalesce(arm.name, '')
		FROM event e LEFT JOIN attempt a ON a.id = e.attempt LEFT JOIN arm ON arm.id = a.arm ORDER BY e.id`,
		func(rows *sql.Rows) (e Event, err error) {
			var at int64
			err = rows.Scan(&at, &e.Kind, &e.Text, &e.Attempt, &e.Workload, &e.Arm)
			e.At = time.Unix(0, at).UTC()
			return e, err
		})
}

// Failure is an attempt that a guest failed.
type Failure struct {
	model.TrialID
	Attempt int64
	Error   string
	Member  int
	Role    model.Role // the failure of a guest that is not Working is not the arm's
	Guest   int64      // 0: it did not start
}

// Failures returns all attempts with the status Failed in order.
func (r *Run) Failures() ([]Failure, error) {
	return collect(r, `SELECT a.id, a.block, a.workload, arm.name, o.error, `+r.since(2, "a.member, a.stress", "0, ''")+
		`, coalesce(a.guest, 0)
		FROM attempt a JOIN outcome o ON o.attempt = a.id JOIN arm ON arm.id = a.arm
		WHERE o.status = 'failed' ORDER BY a.id`, func(rows *sql.Rows) (f Failure, err error) {
		return f, rows.Scan(&f.Attempt, &f.Block, &f.Workload, &f.Arm, &f.Error, &f.Member, &f.Role, &f.Guest)
	})
}

// Trial is an attempt with its outcome, values and steps.
type Trial struct {
	Attempt    int64              `json:"attempt"`
	Block      int                `json:"block"`
	Position   int                `json:"position"`
	Workload   string             `json:"workload"`
	Arm        string             `json:"arm"`
	Generation int                `json:"generation"`
	Guest      int64              `json:"guest"`
	Member     int                `json:"member"` // number of the guest in the trial
	Role       model.Role         `json:"stress,omitempty"`
	Size       int64              `json:"size"`
	Began      time.Time          `json:"began"`
	Status     Status             `json:"status"`
	Error      string             `json:"error,omitempty"`
	OffsetNS   int64              `json:"clock_offset_ns"`
	DelayNS    int64              `json:"clock_delay_ns"`
	Metrics    map[string]float64 `json:"metrics"`
	Probes     map[string]float64 `json:"probes"`
	Steps      []TrialStep        `json:"steps"`
}

// TrialStep is a step of a trial without its output.
type TrialStep struct {
	Name         string      `json:"name"`
	Timed        bool        `json:"timed"`
	Argv         []string    `json:"argv"`
	ExitCode     int         `json:"exit_code"`
	Signal       int         `json:"signal,omitempty"`
	TimedOut     bool        `json:"timed_out,omitempty"`
	StdoutBytes  int64       `json:"stdout_bytes"`
	StderrBytes  int64       `json:"stderr_bytes"`
	HostStartNS  int64       `json:"host_start_ns"`
	HostEndNS    int64       `json:"host_end_ns"`
	GuestStartNS int64       `json:"guest_start_ns"`
	GuestEndNS   int64       `json:"guest_end_ns"`
	Rusage       agent.Usage `json:"rusage"`
}

// Trials yields every attempt in order, including interrupted ones. An error ends
// the sequence.
func (r *Run) Trials() iter.Seq2[*Trial, error] {
	return func(yield func(*Trial, error) bool) {
		fail := func(err error) { yield(nil, r.explainRead(err)) }
		metrics, err := r.Metrics()
		if err != nil {
			fail(err)
			return
		}
		// Read attempts in pages: there is only one connection, so queries cannot nest.
		for last := int64(0); ; {
			trials, err := collect(r,
				fmt.Sprintf(`SELECT a.id, a.block, a.position, a.workload, arm.name, a.epoch, coalesce(a.guest, 0), a.size, a.began_unix_ns,
				coalesce(o.status, 'interrupted'), coalesce(o.error, ''), coalesce(o.offset_ns, 0), coalesce(o.delay_ns, 0), %s
				FROM attempt a JOIN arm ON arm.id = a.arm LEFT JOIN outcome o ON o.attempt = a.id WHERE a.id > %d ORDER BY a.id LIMIT 1000`, r.since(2, "a.member, a.stress", "0, ''"), last),
				func(rows *sql.Rows) (*Trial, error) {
					t := &Trial{Metrics: map[string]float64{}, Probes: map[string]float64{}, Steps: []TrialStep{}}
					var began int64
					err := rows.Scan(&t.Attempt, &t.Block, &t.Position, &t.Workload, &t.Arm, &t.Generation, &t.Guest, &t.Size, &began,
						&t.Status, &t.Error, &t.OffsetNS, &t.DelayNS, &t.Member, &t.Role)
					t.Began = time.Unix(0, began).UTC()
					return t, err
				})
			if err == nil {
				err = r.fill(trials, metrics)
			}
			if err != nil {
				fail(err)
				return
			}
			if len(trials) == 0 {
				return
			}
			for _, t := range trials {
				if t.Attempt <= last {
					fail(fault.Campaignf("%s is damaged: attempt %d is out of order", r.path, t.Attempt))
					return
				}
				if !yield(t, nil) {
					return
				}
				last = t.Attempt
			}
		}
	}
}

// fill adds values and steps to a page of trials.
func (r *Run) fill(trials []*Trial, metrics []Metric) error {
	if len(trials) == 0 {
		return nil
	}
	byID := make(map[int64]*Trial, len(trials))
	for _, t := range trials {
		byID[t.Attempt] = t
	}
	first, last := trials[0].Attempt, trials[len(trials)-1].Attempt
	err := eachRow(r.ctx, r.db, "SELECT attempt, metric, value FROM value WHERE attempt BETWEEN ? AND ?",
		func(rows *sql.Rows) error {
			var attempt int64
			var metric int
			var v float64
			if err := rows.Scan(&attempt, &metric, &v); err != nil {
				return err
			}
			t := byID[attempt]
			if t == nil || metric < 0 || metric >= len(metrics) {
				return fault.Campaignf("%s is damaged: it has a value of attempt %d and metric %d, which do not exist", r.path,
					attempt, metric)
			}
			if m := metrics[metric]; m.Probe {
				t.Probes[m.Name] = v
			} else {
				t.Metrics[m.Name] = v
			}
			return nil
		}, first, last)
	if err != nil {
		return err
	}
	return eachRow(r.ctx, r.db,
		`SELECT attempt, name, timed, argv, exit_code, signal, timed_out, stdout_bytes, stderr_bytes,
		host_start_ns, host_end_ns, guest_start_ns, guest_end_ns, rusage FROM step WHERE attempt BETWEEN ? AND ? ORDER BY attempt, position`,
		func(rows *sql.Rows) error {
			var attempt int64
			var argv, rusage string
			var s TrialStep
			if err := rows.Scan(&attempt, &s.Name, &s.Timed, &argv, &s.ExitCode, &s.Signal, &s.TimedOut, &s.StdoutBytes,
				&s.StderrBytes, &s.HostStartNS, &s.HostEndNS, &s.GuestStartNS, &s.GuestEndNS, &rusage); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(argv), &s.Argv); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(rusage), &s.Rusage); err != nil {
				return err
			}
			t := byID[attempt]
			if t == nil {
				return fault.Campaignf("%s is damaged: it has a step of attempt %d, which does not exist", r.path, attempt)
			}
			t.Steps = append(t.Steps, s)
			return nil
		}, first, last)
}

// collect returns what scan makes of each row of a query.
func collect[T any](r *Run, query string, scan func(*sql.Rows) (T, error)) (all []T, err error) {
	err = eachRow(r.ctx, r.db, query, func(rows *sql.Rows) error {
		v, err := scan(rows)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, r.explainRead(err)
	}
	return all, nil
}

// eachRow calls scan with each row of a query. Its errors are SQLite's and those of scan.
func eachRow(ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
