// Package report shows the result of a run: as a table for the terminal, and
// as JSON, CSV and Go's benchmark format for other programs. It computes
// nothing; the numbers and what may be said of them are package analyze's.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// Context is what a table shows besides the numbers, and how.
type Context struct {
	Campaign  string
	Path      string // of the run file; "": not shown
	Seed      uint64
	Machine   host.Environment
	Host      string // one line
	Programs  string // that made the guests, with versions, and whose they are; "": not known
	NoEnergy  string // why energy was not measured; "": it was, or it is not known
	Merging   string // whether the host merges equal pages of guests, in a sentence
	Polite    string // what a polite run left to others; "": it was not polite
	Effects   string // what the run did to the caches of the whole host; "": nothing
	Sizes     []store.Size
	LeftOut   []Named // systems of the campaign that did not take part, and why
	Scenarios []Named // scenarios other than solo, and which guests run at the same time
	// MinBlocks is the least number of blocks that the campaign asks for.
	MinBlocks int
	// Ended is why the run has no more blocks; "" if it is incomplete.
	Ended plan.Reason
	// Incomplete says why the run is incomplete; "" if it is complete.
	Incomplete string

	// Trials returns the trials of a workload, of arms that are alone or of others, and how many of an arm are drawn one
	// by
	// one; nil: the context has none.
	Trials func(workload string, alone bool) (strips []view.Strip, limit int)

	Width      int  // columns of the terminal; 0: 100
	Colour     bool // the caller takes care of NO_COLOR and of terminals
	AllMetrics bool // all metrics, probes and findings, not only the first metric of each workload
}

// Named is what is said about something.
type Named struct{ Name, Text string }

// ContextOf reads from a run what its table shows besides the numbers.
func ContextOf(r *store.Run) (Context, error) {
	ctx := Context{Path: r.Path()}
	c, err := dataset.CampaignOf(r)
	if err != nil {
		return ctx, err
	}
	ctx.Campaign, ctx.Seed, ctx.MinBlocks = c.Name, c.Seed, c.Blocks.Min
	for _, a := range c.Skipped() {
		ctx.LeftOut = append(ctx.LeftOut, Named{a.Name, a.Skip})
	}
	for _, s := range c.Scenarios {
		if s.Name != model.Solo {
			ctx.Scenarios = append(ctx.Scenarios, Named{s.Name, s.Text()})
		}
	}
	if ctx.Sizes, err = r.Sizes(); err != nil {
		return ctx, err
	}
	env := &ctx.Machine
	if err := r.Decode(store.DocEnvironment, env); err != nil {
		return ctx, err
	}
	events, err := r.Events()
	if err != nil {
		return ctx, err
	}
	ctx.Host, ctx.NoEnergy, ctx.Merging = HostLine(env), env.NoEnergy(), merging(env, events)
	ctx.Effects, ctx.Polite = effects(events), polite(c.Polite, events)
	ctx.Programs = programs(r, c)
	sessions, err := r.Sessions()
	if err != nil {
		return ctx, err
	}
	ctx.Ended, ctx.Incomplete = ending(sessions)
	return ctx, nil
}

// effects says how often tare dropped the caches of the whole host.
func effects(events []store.Event) string {
	n := 0
	for _, e := range events {
		if e.Kind == store.EventCachesDropped {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "dropped once, for the whole host"
	}
	return fmt.Sprintf("dropped %d times, for the whole host", n)
}

// polite says what a polite run left to others, and how often it paused for them.
func polite(p campaign.Polite, events []store.Event) string {
	if !p.Asked() {
		return ""
	}
	text := fmt.Sprintf("at most %d %s, idle I/O, no caches of the host dropped, %s of memory free, pauses above %s of "+
		"pressure", p.CPUs, plural(p.CPUs, "CPU"), p.Free, p.Pressure)
	n, seconds := 0, 0.0
	for _, e := range events {
		number, _, _ := strings.Cut(e.Text, " ")
		if s, err := strconv.ParseFloat(number, 64); e.Kind == store.EventPaused && err == nil {
			n, seconds = n+1, seconds+s
		}
	}
	if n == 0 {
		return text + "; it never paused"
	}
	return fmt.Sprintf("%s; paused %d %s, %.0f s in all", text, n, plural(n, "time"), seconds)
}

// programs names what made the guests of a run's arms, by the document that describes its systems.
func programs(r *store.Run, c *campaign.Campaign) string {
	var systems []struct {
		Name     string
		Versions map[string]string
	}
	if r.DecodeIfAny(store.DocSystems, &systems) != nil {
		return "" // in no run of an older tare, and it only serves to show this
	}
	var said []string
	for _, s := range systems {
		if !slices.ContainsFunc(c.Active(), func(a campaign.Arm) bool { return a.System == s.Name }) {
			continue
		}
		for _, program := range slices.Sorted(maps.Keys(s.Versions)) {
			if text := view.Clean(program + " " + s.Versions[program]); !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, ", ")
}

// Incomplete says why a run with these sessions is incomplete; "" if it is complete.
func Incomplete(sessions []store.Session) string {
	_, why := ending(sessions)
	return why
}

// ending tells from the last session why a run has no more blocks.
func ending(sessions []store.Session) (ended plan.Reason, incomplete string) {
	if len(sessions) == 0 {
		return "", "it never started"
	}
	last := sessions[len(sessions)-1]
	switch reason := plan.Reason(last.Reason); {
	case last.Ended.IsZero():
		return "", "it was killed or is still running"
	case endings[reason] != "":
		return reason, ""
	case last.Reason == "":
		return "", "it stopped early"
	}
	return "", last.Reason
}

// endings says why a run is complete.
var endings = map[plan.Reason]string{
	plan.ReasonBlocks:    "as many as the campaign asks for",
	plan.ReasonPrecision: "enough for the requested precision",
	plan.ReasonMax:       "as many as the campaign allows; the requested precision needs more",
	plan.ReasonBudget:    "another would exceed the budget",
}

// HostLine describes a host in one line.
func HostLine(e *host.Environment) string {
	memory := ""
	if e.Memory.Total != nil {
		memory = InUnit("B", float64(*e.Memory.Total), 4) + " of memory"
	}
	role := map[host.Role]string{host.BareMetal: "bare metal", host.XenDom0: "Xen's dom0",
		host.InGuest: "itself a guest of " + cmp.Or(e.Virt.Of, "a hypervisor")}[e.Virt.Role]
	return listed(e.CPU.Model, when(e.CPU.Threads > 0, fmt.Sprintf("%d %s", e.CPU.Threads, plural(e.CPU.Threads, "CPU"))),
		memory, when(e.Kernel.Release != "", "kernel "+e.Kernel.Release), role,
		when(e.Virt.Emulated, "EMULATED: not a measure of hardware"),
		when(e.Virt.Container != "", "in a container ("+e.Virt.Container+")"))
}

// listed joins the words that are not empty.
func listed(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
