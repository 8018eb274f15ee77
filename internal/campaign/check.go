package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// minPrecise is the least number of blocks with a precision: with fewer, the
// estimate of the spread is too poor to tell whether the precision is reached.
const minPrecise = 10

// Smallest sizes of file systems that their mkfs accepts.
var minDisk = map[string]Bytes{"ext4": 32 * MiB, "ext3": 32 * MiB, "ext2": 32 * MiB, "xfs": 300 * MiB,
	model.NoFS: MiB}

// minSwap is the smallest swap: a kernel refuses one of a few pages.
const minSwap = MiB

// checker checks a campaign that was read.
type checker struct{ *strict.Reader }

// check fills in the defaults that depend on other keys and reports what is
// impossible. It runs even if reading found problems, so that a user sees them all;
// it ignores parts that could not be read.
func (r *checker) check(c *Campaign, known Known) {
	if !r.Has("flavors") {
		c.Flavors = []model.Flavor{NewFlavor("default")}
	}
	for i, f := range c.Flavors {
		if r.Sound("flavors." + f.Name) {
			r.choose(&c.Flavors[i], known.Host)
			r.checkFlavor(c.Flavors[i], known.Host)
		}
	}
	for i := range c.Arms {
		r.checkArm(c, i, known.Systems)
	}
	r.checkUnless(c)
	r.checkUnused(c)
	r.checkBaseline(c)
	r.checkBoots(c, known)
	r.checkScenarios(c, known)
	if r.Sound("arms", "flavors", "baseline") {
		r.checkEqual(c)
		r.checkMemory(c, known)
		r.checkDevices(c)
	}
	for i := range c.Workloads {
		r.checkWorkload(c, i, known.Workloads)
	}
	for i, name := range c.Image.AlsoFor {
		if _, ok := known.Workloads[name]; !ok && known.Workloads != nil {
			r.FailWord(fmt.Sprintf("image.also_for[%d]", i), name, slices.Sorted(maps.Keys(known.Workloads)),
				"unknown workload %q", name)
		}
	}
	for _, why := range c.tooManyCPUs() {
		r.Fail("polite.cpus", "%s", why)
	}
	c.Workloads = r.expand(c.Workloads)
	r.checkContainer(c)
	r.checkEffort(c)
	r.checkRounds(c)
}

func (r *checker) checkFlavor(f model.Flavor, host Host) {
	path := "flavors." + f.Name
	memory, disk := Bytes(f.MemoryBytes), Bytes(f.DiskBytes)
	if memory < 16*MiB {
		r.Fail(path+".memory", "memory %s is too small for any guest; the minimum is 16MiB", memory)
	}
	if host.Memory > 0 && memory > host.Memory {
		r.Fail(path+".memory", "memory %s is more than the host's %s", memory, host.Memory)
	}
	if r.Has(path+".swap") && f.SwapBytes < int64(minSwap) {
		r.Fail(path+".swap", "swap %s is too small; the minimum is %s", Bytes(f.SwapBytes), minSwap)
	}
	if least := minDisk[f.DiskFS]; disk < least {
		r.Fail(path+".disk", "disk %s is too small for %s, which needs %s", disk, f.DiskFS, least)
	}
	if r.Has(path + ".cpu_cap") {
		switch most := float64(f.VCPUs); {
		case f.CPUCap < 0.01:
			r.Fail(path+".cpu_cap", "cpu_cap %s leaves the guest no CPU; Linux enforces caps of 1%% and more",
				capText(f.CPUCap))
		case f.CPUCap > most:
			r.Fail(path+".cpu_cap", "cpu_cap %s is more than the %s of all its CPUs (vcpus %d)",
				capText(f.CPUCap), capText(most), f.VCPUs)
		}
	}
	r.checkPlace(path, f, host)
	r.checkNetCap(path, f)
	if host.CPUs != nil {
		if beyond := f.CPUs.Without(host.CPUs); beyond != nil {
			r.Fail(path+".cpuset", "cpuset %s: the host has no CPU %s; it has %s", f.CPUs, beyond, host.CPUs)
			return
		}
	}
	switch {
	case f.CPUs != nil && f.VCPUs > len(f.CPUs):
		r.Fail(path+".vcpus", "vcpus %d is more than the CPUs of cpuset %s (%d)", f.VCPUs, f.CPUs, len(f.CPUs))
	case f.CPUs == nil && host.CPUs != nil && f.VCPUs > len(host.CPUs):
		r.Fail(path+".vcpus", "vcpus %d is more than the host's CPUs (%d)", f.VCPUs, len(host.CPUs))
	}
}

// checkArm fills in and checks arm i, and leaves it out if it may be.
func (r *checker) checkArm(c *Campaign, i int, systems map[string]Limits) {
	path := fmt.Sprintf("arms[%d]", i)
	a := &c.Arms[i]
	if !r.Sound(path) || a.System == "" {
		return
	}
	if a.Name == "" {
		a.Name = a.System
	}
	if a.Flavor == "" && len(c.Flavors) > 0 {
		a.Flavor = c.Flavors[0].Name
	}
	for j, other := range c.Arms[:i] {
		if other.Name == a.Name {
			r.Fail(path+".name", "arm %q appears twice, first in line %d; give one of them another name", a.Name,
				r.Line(fmt.Sprintf("arms[%d]", j)))
		}
	}
	flavor, ok := c.Flavor(a.Flavor)
	if !ok && r.Has(path+".flavor") {
		r.unknownFlavor(c, path+".flavor", a.Flavor)
	}
	if systems == nil {
		return
	}
	limits, known := systems[a.System]
	if !known {
		r.FailWord(r.at(path, "system"), a.System, slices.Sorted(maps.Keys(systems)), "unknown system %q", a.System)
		return
	}
	r.checkOptions(path, a, limits)
	if a.Skip == "" && !limits.Usable {
		r.unusable(path, a, limits)
	}
	if a.Skip != "" || !ok || !r.Sound("flavors."+flavor.Name) {
		return
	}
	if flavor.SwapBytes > 0 && limits.NoSwap != "" && a.IfUsable {
		limits.Why, limits.Remedy = "flavor "+flavor.Name+" has swap, but "+limits.NoSwap, ""
		r.unusable(path, a, limits)
		return
	}
	r.checkLimits(path, *a, flavor, limits)
}

// at is the path of a key of an object, or that of the object if it is written without the key.
func (r *checker) at(path, key string) string {
	if r.Has(path + "." + key) {
		return path + "." + key
	}
	return path
}

// unknownFlavor reports that the file has no such flavor, unless its flavors are at fault.
func (r *checker) unknownFlavor(c *Campaign, path, name string) {
	if !r.Sound("flavors") {
		return
	}
	names := make([]string, len(c.Flavors))
	for i, f := range c.Flavors {
		names[i] = f.Name
	}
	r.FailWord(path, name, names, "unknown flavor %q; the file has %s", name, strings.Join(names, ", "))
}

// checkLimits checks that guests of an arm can have a flavor.
func (r *checker) checkLimits(path string, a Arm, flavor model.Flavor, limits Limits) {
	switch {
	case flavor.CPUCap > 0 && !limits.CPUCap:
		r.Fail(path, "arm %q: %s cannot enforce a CPU cap, but flavor %q has one of %s",
			a.Name, a.System, flavor.Name, capText(flavor.CPUCap))
	case flavor.CPUs != nil && !limits.Pin:
		r.Fail(path, "arm %q: %s cannot pin a guest to CPUs, but flavor %q has cpuset %s",
			a.Name, a.System, flavor.Name, flavor.CPUs)
	}
	if memory := Bytes(flavor.MemoryBytes); memory < limits.MinMemory {
		r.Fail(path, "arm %q: %s needs %s of memory, but flavor %q has %s", a.Name, a.System, limits.MinMemory, flavor.Name,
			memory)
	}
	r.checkPlaces(path, a, flavor, limits)
	r.checkArmCaps(path, a, flavor, limits)
	r.checkCounts(path, a, flavor, limits)
	if limits.MaxVCPUs > 0 && flavor.VCPUs > limits.MaxVCPUs {
		r.Fail(path, "arm %q: %s supports vcpus up to %d, but flavor %q has %d", a.Name, a.System, limits.MaxVCPUs,
			flavor.Name, flavor.VCPUs)
	}
}

// unusable leaves out an arm if it may be left out, and refuses it otherwise.
func (r *checker) unusable(path string, a *Arm, limits Limits) {
	why := limits.Why
	if why == "" {
		why = "its check failed"
	}
	reason := why
	if limits.Remedy != "" {
		why += "; to fix: " + limits.Remedy
	}
	if a.IfUsable {
		a.Skip = reason
		r.Warn(path, "arm %q is left out: %s is not usable here: %s", a.Name, a.System, why)
		return
	}
	r.Fail(path, "arm %q: %s is not usable here: %s; or leave it out with if_usable: true", a.Name, a.System, why)
}

// checkUnless leaves out the arms that earlier ones replace.
func (r *checker) checkUnless(c *Campaign) {
	names := make([]string, len(c.Arms))
	for i, a := range c.Arms {
		names[i] = a.Name
	}
	for i := range c.Arms {
		a := &c.Arms[i]
		for j, other := range a.Unless {
			path := fmt.Sprintf("arms[%d].unless[%d]", i, j)
			there := slices.Index(names, other)
			switch {
			case there < 0:
				r.FailWord(path, other, names, "arm %q: unknown arm %q", a.Name, other)
			case there >= i: // so that it is known whether the other one takes part
				r.Fail(path, "arm %q: arm %q does not come before it", a.Name, other)
			case c.Arms[there].Skip == "" && a.Skip == "":
				a.Skip = other + " takes part"
			}
		}
	}
}

func (r *checker) checkUnused(c *Campaign) {
	if !r.Has("flavors") || !r.Sound("flavors", "arms") {
		return
	}
	for _, f := range c.Flavors {
		mixed := slices.ContainsFunc(c.Scenarios, func(s Scenario) bool {
			return s.Server.Flavor == f.Name || slices.ContainsFunc(s.Mix, func(p Part) bool { return p.Flavor == f.Name })
		})
		if !mixed && !slices.ContainsFunc(c.Arms, func(a Arm) bool { return a.Flavor == f.Name }) {
			r.Warn("flavors."+f.Name, "flavor %q is not used by any arm", f.Name)
		}
	}
}

func (r *checker) checkBaseline(c *Campaign) {
	if !r.Sound("arms", "baseline") || len(c.Arms) == 0 {
		return
	}
	active := c.Active()
	if len(active) == 0 {
		r.Fail("arms", "every arm is left out, so nothing remains to measure: %s", c.Arms[0].Skip)
		return
	}
	if !r.Has("baseline") {
		c.Baseline = active[0].Name
		if i := slices.IndexFunc(active, func(a Arm) bool { return a.System == NativeSystem }); i >= 0 {
			c.Baseline = active[i].Name
		}
		return
	}
	a, ok := c.Arm(c.Baseline)
	if !ok {
		names := make([]string, len(c.Arms))
		for i, a := range c.Arms {
			names[i] = a.Name
		}
		r.FailWord("baseline", c.Baseline, names, "the baseline %q is not one of the arms", c.Baseline)
		return
	}
	if a.Skip != "" {
		r.Fail("baseline", "the baseline %q is left out: %s", c.Baseline, a.Skip)
	}
}

// checkEqual refuses arms with other resources than the baseline.
func (r *checker) checkEqual(c *Campaign) {
	base, ok := c.Arm(c.Baseline)
	want, okFlavor := c.Flavor(base.Flavor)
	if !ok || !okFlavor || c.AllowUnequal {
		return
	}
	for i, a := range c.Arms {
		f, ok := c.Flavor(a.Flavor)
		if !ok || a.Skip != "" {
			continue
		}
		if diff := differences(f, want); len(diff) > 0 {
			r.Fail(fmt.Sprintf("arms[%d].flavor", i), "arm %q and the baseline %q have unequal resources: %s; if that is "+
				"intended, set allow_unequal: true",
				a.Name, base.Name, strings.Join(diff, ", "))
		}
	}
}

// differences says in which resources got differs from want.
func differences(got, want model.Flavor) []string {
	var diff []string
	differ := func(resource, a, b string) {
		if a != b {
			diff = append(diff, fmt.Sprintf("%s %s against %s", resource, a, b))
		}
	}
	limit := func(cpus float64) string {
		if cpus == 0 {
			return "none"
		}
		return capText(cpus)
	}
	cpus := func(s model.CPUList) string {
		if s == nil {
			return "tare's choice"
		}
		return s.String()
	}
	differ("vcpus", fmt.Sprint(got.VCPUs), fmt.Sprint(want.VCPUs))
	differ("memory", Bytes(got.MemoryBytes).String(), Bytes(want.MemoryBytes).String())
	differ("swap", Bytes(got.SwapBytes).String(), Bytes(want.SwapBytes).String())
	differ("cpu_cap", limit(got.CPUCap), limit(want.CPUCap))
	differ("cpuset", cpus(got.CPUs), cpus(want.CPUs))
	differ("disk", Bytes(got.DiskBytes).String(), Bytes(want.DiskBytes).String())
	differ("fs", got.DiskFS, want.DiskFS)
	differ("backing", got.Backing, want.Backing)
	differ("network", got.Network, want.Network)
	differ("io", ioText(got.IO), ioText(want.IO))
	differ("net", netText(got.Net), netText(want.Net))
	return diff
}

func (r *checker) checkWorkload(c *Campaign, i int, workloads map[string]Sizes) {
	path := fmt.Sprintf("workloads[%d]", i)
	w := c.Workloads[i]
	if !r.Sound(path) || w.Name == "" {
		return
	}
	series := w.series()
	if len(series) > maxSweep {
		r.Fail(path+".params", "the parameters of %s make more than %d workloads", w.Name, maxSweep)
		return
	}
	if w.Custom() {
		r.checkCustom(c, i, workloads)
		return
	}
	for _, k := range customKeys {
		if r.Has(path + "." + k.Name) {
			r.Fail(path+"."+k.Name, "%s is only for a workload of your own; without a command, %q is one of tare's", k.Name,
				w.Name)
		}
	}
	if workloads == nil {
		return
	}
	sizes, ok := workloads[w.Name]
	if !ok {
		r.FailWord(r.at(path, "name"), w.Name, slices.Sorted(maps.Keys(workloads)), "unknown workload %q", w.Name)
		return
	}
	if sizes.OwnBuild && w.Build == "" {
		r.Fail(path, "no package has the program of %s: build it, and give its path with build: /…", w.Name)
	}
	if !sizes.OwnBuild && w.Build != "" {
		r.Fail(path+".build", "%s runs a program from a package, not a build of yours", w.Name)
	}
	if sizes.CheckParam != nil && !r.checkParams(path, w, sizes) {
		return
	}
	for _, one := range series {
		if sizes.With != nil && len(one.Params) > 0 {
			with, err := sizes.With(one)
			if err != nil {
				r.Fail(path, "%v", err)
				return
			}
			r.checkSize(c, path, one, with)
		} else {
			r.checkSize(c, path, one, sizes)
		}
	}
}

// checkSize checks the amount of work against the bounds of the workload, and
// against the disks of the arms.
func (r *checker) checkSize(c *Campaign, path string, w Workload, sizes Sizes) {
	size := w.Size
	switch {
	case size == 0:
		size = sizes.Min
	case size < sizes.Min:
		r.Fail(path+".size", "size %d of %s is below its minimum, %d (%s)", size, w.Series(), sizes.Min, sizes.Unit)
		return
	case sizes.Max > 0 && size > sizes.Max:
		r.Fail(path+".size", "size %d of %s is above its maximum, %d (%s)", size, w.Series(), sizes.Max, sizes.Unit)
		return
	}
	if sizes.Disk == nil || !r.Sound("arms", "flavors") {
		return
	}
	for _, a := range c.Active() {
		f, ok := c.Flavor(a.Flavor)
		if ok && sizes.Raw != (f.DiskFS == model.NoFS) {
			r.Fail(path, "%s", map[bool]string{
				true: fmt.Sprintf("workload %s uses the device of the data volume, which flavor %q needs fs: none for", w.Series(),
					f.Name),
				false: fmt.Sprintf("workload %s needs a file system, but flavor %q has fs: none", w.Series(), f.Name),
			}[sizes.Raw])
			return
		}
		if need := sizes.Disk(size); ok && need > f.DiskBytes {
			r.Fail(path, "workload %s writes at least %s, but the disk of flavor %q has %s",
				w.Series(), Bytes(need), f.Name, Bytes(f.DiskBytes))
			return
		}
	}
}

// expand turns each entry into its workloads, and refuses repeated ones.
func (r *checker) expand(entries []Workload) []Workload {
	var all []Workload
	first := map[string]int{} // entry by series
	for i, entry := range entries {
		for _, w := range entry.series() {
			if j, twice := first[w.Series()]; twice && w.Name != "" {
				path := fmt.Sprintf("workloads[%d]", i)
				r.Fail(path, "workload %q appears twice, first in line %d; for several sizes, write size: [1000, 3000]",
					w.Series(), r.Line(fmt.Sprintf("workloads[%d]", j)))
				break
			}
			first[w.Series()] = i
			all = append(all, w)
		}
	}
	return all
}

// checkEffort fills in and checks how long to measure.
func (r *checker) checkEffort(c *Campaign) {
	if !r.Has("timeout") {
		c.Timeout = max(5*time.Minute, 100*c.TrialTime)
	}
	if !r.Has("blocks") {
		c.Blocks = Blocks{10, 10}
		if c.Precision > 0 {
			c.Blocks = Blocks{minPrecise, 100}
		}
	}
	if r.Sound("trial_time") && (c.TrialTime < 10*time.Millisecond || c.TrialTime > time.Hour) {
		r.Fail("trial_time", "trial_time %s is out of range: 10ms to 1h", FormatDuration(c.TrialTime))
	}
	if r.Sound("timeout", "trial_time") && c.Timeout < 2*c.TrialTime {
		r.Fail("timeout", "timeout %s is less than twice the trial_time of %s", FormatDuration(c.Timeout),
			FormatDuration(c.TrialTime))
	}
	if r.Sound("budget", "trial_time") && r.Has("budget") && c.Budget < c.TrialTime {
		r.Fail("budget", "budget %s is less than one trial_time of %s", FormatDuration(c.Budget), FormatDuration(c.TrialTime))
	}
	r.checkShare("precision", c.Precision)
	r.checkShare("delta", c.Delta)
	if r.Sound("output_limit") && (c.OutputLimit < KiB || c.OutputLimit > GiB) {
		r.Fail("output_limit", "output_limit %s is out of range: 1KiB to 1GiB", c.OutputLimit)
	}
	if r.Sound("blocks", "precision", "budget") {
		r.checkBlocks(c.Blocks)
	}
}

// checkBlocks checks how many blocks there may be, and whether something decides between them.
func (r *checker) checkBlocks(b Blocks) {
	switch {
	case b.Min > b.Max:
		r.Fail("blocks", "blocks: min %d is more than max %d", b.Min, b.Max)
	case r.Has("precision") && b.Fixed():
		r.Fail("blocks", "blocks: a precision needs a range instead of a fixed number; write {min: %d, max: %d}", minPrecise,
			max(b.Max, 10*minPrecise))
	case r.Has("precision") && b.Min < minPrecise:
		r.Fail("blocks", "blocks: a precision is checked after min blocks, which must be at least %d, not %d", minPrecise,
			b.Min)
	case !b.Fixed() && !r.Has("precision") && !r.Has("budget"):
		r.Fail("blocks", "blocks: {min, max} needs a precision or a budget that decides between them")
	}
}

// checkShare checks a percentage that bounds a relative difference.
func (r *checker) checkShare(path string, p Percent) {
	if r.Has(path) && r.Sound(path) && (p <= 0 || p > 50) {
		r.Fail(path, "%s %s is out of range: more than 0%% and up to 50%%", path, p)
	}
}
