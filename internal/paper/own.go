package paper

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// own is what sets a guest of the article apart from the others: the key guest of a system in a recipe. A member that
// is not set is the same for all.
type own struct {
	memory  campaign.Bytes
	vcpus   int
	free    bool // not pinned: it may run on all CPUs of the host; the others have CPUs that tare chooses
	backing string
	network string
	options []model.Setting // of the system
}

func (o own) given() bool {
	return o.memory != 0 || o.vcpus != 0 || o.free || o.backing != "" || o.network != "" || len(o.options) > 0
}

func (o own) same(p own) bool {
	return o.memory == p.memory && o.vcpus == p.vcpus && o.free == p.free && o.backing == p.backing &&
		o.network == p.network && slices.Equal(o.options, p.options)
}

var ownKind = strict.Object("a guest", []strict.Key[own]{
	strict.Field("memory", "", campaign.SizeKind, func(o *own) *campaign.Bytes { return &o.memory }),
	strict.Field("vcpus", "", strict.Whole[int](1, model.MaxCPUs), func(o *own) *int { return &o.vcpus }),
	strict.Field("free", "", campaign.BoolKind, func(o *own) *bool { return &o.free }),
	strict.Field("backing", "", strict.OneOf(model.BackingRaw, model.BackingQCOW2),
		func(o *own) *string { return &o.backing }),
	strict.Field("network", "", strict.OneOf(model.NetworkBridged, model.NetworkNAT, model.NetworkUser),
		func(o *own) *string { return &o.network }),
	strict.Field("options", "", campaign.SettingsKind, func(o *own) *[]model.Setting { return &o.options }),
})

// arm is an arm of a repetition's campaigns.
type arm struct {
	name, system string
	own          own
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// adapt gives a guest that takes the place of one of the article's what that one had, as far as its system and this
// machine permit, and says what they do not permit.
func (r *Repetition) adapt(g *Guest, o own) {
	g.Arm = g.As
	if g.As == "" || g.As == r.Base || !o.given() {
		return
	}
	var lost []string
	if o.backing != "" && !r.machine.supports(g.As, o.backing) {
		lost, o.backing = append(lost, fmt.Sprintf("its disk is a loop device instead of a file, since %s has no %s here",
			g.As, o.backing)), ""
	}
	if o.network != "" && !r.machine.supports(g.As, o.network) {
		lost, o.network = append(lost, fmt.Sprintf("it has no network %s, which %s does not support here", o.network,
			g.As)), ""
	}
	if o.vcpus > max(1, r.machine.CPUs) {
		lost, o.vcpus = append(lost, fmt.Sprintf("it has %d of its %d CPUs", r.machine.CPUs, o.vcpus)), r.machine.CPUs
	}
	g.Why = strings.Join(slices.DeleteFunc(append([]string{g.Why}, lost...), func(s string) bool { return s == "" }), "; ")
	if !o.given() {
		return
	}
	g.own = o
	for _, other := range r.Guests { // two of the article's that are one here
		if other.As == g.As && other.own.same(o) {
			g.Arm = other.Arm
			return
		}
	}
	g.Arm = strings.Trim(notInNames.ReplaceAllString(g.System, "-"), "-")
}

// arms returns all arms, the base first, then those with something of their own last of their system.
func (r *Repetition) arms() []arm {
	list := []arm{{name: r.Base, system: r.Base}}
	add := func(a arm) {
		if !slices.ContainsFunc(list, func(b arm) bool { return a.name == b.name }) {
			list = append(list, a)
		}
	}
	for _, g := range r.Guests {
		if g.As != "" {
			add(arm{g.Arm, g.As, g.own})
		}
	}
	for _, system := range r.Also {
		add(arm{name: system, system: system})
	}
	return list
}

// armsOf returns the arms of a stage: an arm with something of its own only where a figure or a claim is about it.
func (r *Repetition) armsOf(s stage) []arm {
	return slices.DeleteFunc(r.arms(), func(a arm) bool {
		return s.wired() && !r.machine.supports(a.system, r.networkOf(a)) || a.own.given() && !r.needs(s, a)
	})
}

// networkOf is the network of an arm's guests in a wired stage.
func (r *Repetition) networkOf(a arm) string {
	if a.own.network != "" {
		return a.own.network
	}
	return model.NetworkBridged
}

// needs reports whether a stage measures anything of the article's systems that an arm stands for.
func (r *Repetition) needs(s stage, a arm) bool {
	rec := &r.Article.recipe
	if s.systems != nil {
		return slices.ContainsFunc(s.systems, func(system string) bool { return r.guest(system).Arm == a.name })
	}
	is := func(system string) bool { return r.guest(system).Arm == a.name }
	for _, row := range r.Article.figures() {
		if f := rec.figure(row); f != nil && f.stage == s.name && is(row.System) {
			return true
		}
	}
	for _, c := range rec.claims {
		if c.stage == s.name && (is(c.system) || is(c.than)) {
			return true
		}
	}
	return false
}

// leastMemory is what a guest with a kernel of today needs.
const leastMemory = 192 << 20

// memoryOf is the memory of an arm's guests: the article's, or if all of them together do not fit, the same share of
// each.
func (r *Repetition) memoryOf(a arm) int64 {
	if a.own.memory == 0 {
		most := r.machine.memory()
		if a.name == r.Base { // which the article's guests did not exceed
			for _, other := range r.arms() {
				if other.own.memory > 0 {
					most = max(most, r.memoryOf(other))
				}
			}
		}
		return most
	}
	var all campaign.Bytes
	for _, other := range r.arms() {
		all += other.own.memory
	}
	share := 1.0
	if fits := r.machine.Memory / 2; fits > 0 && int64(all) > fits {
		share = float64(fits) / float64(all)
	}
	return max(leastMemory, int64(share*float64(a.own.memory))>>26<<26)
}

// flavorOf is the flavor of an arm that has one.
func (r *Repetition) flavorOf(a arm, usual model.Flavor) model.Flavor {
	f := usual
	f.Name, f.MemoryBytes = a.name, r.memoryOf(a)
	if a.own.vcpus > 0 {
		f.VCPUs = a.own.vcpus
	}
	if a.own.free {
		f.CPUs = model.FirstCPUs(r.machine.CPUs)
	}
	if a.own.backing != "" {
		f.Backing = a.own.backing
	}
	if f.Network != model.NetworkNone && a.own.network != "" {
		f.Network = a.own.network
	}
	return f
}

// text says what an arm has of its own.
func (r *Repetition) text(a arm) string {
	var parts []string
	if a.own.memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", r.memoryOf(a)>>20))
		if here := r.memoryOf(a); here != int64(a.own.memory) {
			parts[0] += fmt.Sprintf(" instead of %d", a.own.memory>>20)
		}
	}
	if a.own.vcpus > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs", a.own.vcpus))
	}
	if a.own.free {
		parts = append(parts, "all CPUs of this host to run on, where the others are pinned")
	}
	switch a.own.backing {
	case model.BackingRaw:
		parts = append(parts, "a file as its disk")
	case model.BackingQCOW2:
		parts = append(parts, "a qcow2 file as its disk")
	}
	if a.own.network != "" {
		parts = append(parts, "network "+a.own.network)
	}
	for _, o := range a.own.options {
		parts = append(parts, o.Name+" "+o.Value)
	}
	return strings.Join(parts, ", ")
}
