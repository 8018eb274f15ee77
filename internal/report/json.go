package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// ExportVersion is the version of the JSON export. Members are only ever
// added; a change of meaning raises it. docs/export.md describes it.
const ExportVersion = 4

// metadata is the member "run" of the export.
type metadata struct {
	Name          string          `json:"name"`
	Seed          uint64          `json:"seed"`
	Campaign      json.RawMessage `json:"campaign"`
	Complete      bool            `json:"complete"`
	Ended         plan.Reason     `json:"ended,omitempty"`
	Incomplete    string          `json:"incomplete,omitempty"`
	Baseline      string          `json:"baseline"`
	Blocks        int             `json:"blocks"`
	PlannedBlocks int             `json:"planned_blocks,omitempty"`
	Alpha         float64         `json:"alpha"`
	Delta         float64         `json:"delta"`
	Environment   json.RawMessage `json:"environment"`
	Systems       json.RawMessage `json:"systems"`
	Userland      *userland       `json:"userland"`
	Arms          []store.Arm     `json:"arms"`
	Sizes         []store.Size    `json:"sizes"`
	Sessions      []store.Session `json:"sessions"`
	Guests        []store.Guest   `json:"guests"`
}

// userland is what identifies the image that all guests ran.
type userland struct {
	Key           string            `json:"key"`
	KernelVersion string            `json:"kernel_version"`
	DiskSHA256    string            `json:"disk_sha256"`
	Packages      map[string]string `json:"packages"`
}

// JSON writes everything that is known about a run except for the raw output of its
// commands. Trials are written as they are read, one per line.
func JSON(w io.Writer, r *store.Run, res *analyze.Result) error {
	m, err := readMetadata(r, res)
	if err != nil {
		return err
	}
	events, err := r.Events()
	if err != nil {
		return err
	}
	e := &exporter{Writer: bufio.NewWriterSize(w, 1<<16)}
	e.WriteString("{\n\"tare_export\": " + strconv.Itoa(ExportVersion))
	e.member("run", m)
	listAny(e, "summaries", Summaries(res))
	list(e, "answers", res.Answers)
	list(e, "rankings", res.Rankings)
	list(e, "comparisons", res.Comparisons)
	list(e, "arms", res.Arms)
	list(e, "isolation", res.Isolation)
	listAny(e, "isolation_matrix", res.IsolationMatrix)
	listAny(e, "attacks", res.Attacks)
	list(e, "cap_accuracy", res.CapAccuracy)
	list(e, "rate_caps", res.RateCaps)
	list(e, "density", res.Density)
	listAny(e, "starts", res.Starts)
	listAny(e, "fills", res.Fills)
	list(e, "memory", res.Memory)
	listAny(e, "energy", res.Energy)
	listAny(e, "requests", res.Requests)
	list(e, "trial_spread", res.TrialSpread)
	list(e, "tails", res.Tails)
	list(e, "latencies", res.Latencies)
	list(e, "latency_curves", res.LatencyCurves)
	listAny(e, "curves", res.Curves)
	listAny(e, "packets", res.Packets)
	list(e, "positions", res.Positions)
	list(e, "thaws", res.Thaws)
	list(e, "findings", res.Findings)
	list(e, "events", events)
	e.begin("trials")
	for t, err := range r.Trials() {
		if err != nil {
			return err
		}
		if e.element(t); e.err != nil {
			break
		}
	}
	e.WriteString("]\n}\n")
	return cmp.Or(e.err, e.Flush())
}

func readMetadata(r *store.Run, res *analyze.Result) (*metadata, error) {
	m := &metadata{Baseline: res.Baseline, Blocks: res.Blocks, PlannedBlocks: res.Planned, Alpha: res.Alpha,
		Delta: res.Delta}
	body, err := r.Document(store.DocCampaign)
	if err != nil {
		return nil, err
	}
	c, err := campaign.FromResolved(body)
	if err != nil {
		return nil, err
	}
	m.Name, m.Seed, m.Campaign = c.Name, c.Seed, body
	var manifest []byte
	for name, into := range map[string]*json.RawMessage{
		store.DocEnvironment: &m.Environment, store.DocSystems: &m.Systems, store.DocUserland: (*json.RawMessage)(&manifest),
	} {
		b, err := r.Document(name)
		if err != nil && fault.KindOf(err) != fault.Campaign {
			return nil, err
		}
		if err == nil { // else it is null in the export
			*into = b
		}
	}
	if manifest != nil {
		if err := json.Unmarshal(manifest, &m.Userland); err != nil {
			return nil, fault.Campaignf("%s is damaged: userland: %w", r.Path(), err)
		}
	}
	var errs [4]error
	m.Arms, errs[0] = r.Arms()
	m.Sizes, errs[1] = r.Sizes()
	m.Sessions, errs[2] = r.Sessions()
	m.Guests, errs[3] = r.Guests()
	m.Ended, m.Incomplete = ending(m.Sessions)
	m.Complete = m.Incomplete == ""
	return m, errors.Join(errs[:]...)
}

// exporter writes one JSON object, an element of a list on each line.
type exporter struct {
	*bufio.Writer // after an error, it writes nothing more
	err           error
	first         bool // no element of the list has been written yet
}

func (e *exporter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		err = fmt.Errorf("export: %w", err)
	} else {
		_, err = e.Write(view.PlainJSON(b))
	}
	e.err = cmp.Or(e.err, err)
}

func (e *exporter) member(name string, v any) {
	e.WriteString(",\n\"" + name + "\": ")
	e.value(v)
}

func (e *exporter) begin(name string) {
	e.WriteString(",\n\"" + name + "\": [")
	e.first = true
}

func (e *exporter) element(v any) {
	if !e.first {
		e.WriteString(",")
	}
	e.first = false
	e.WriteString("\n")
	e.value(v)
}

// list writes a member that is a list.
func list[T any](e *exporter, name string, all []T) {
	e.begin(name)
	for _, v := range all {
		e.element(v)
	}
	e.WriteString("]")
}

// listAny writes a member that is a list, unless it is empty.
func listAny[T any](e *exporter, name string, all []T) {
	if len(all) > 0 {
		list(e, name, all)
	}
}
