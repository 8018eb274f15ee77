package analyze

// Kind is a kind of finding. Its page is docs/findings/ID.md.
type Kind struct {
	ID       string   `json:"id"` // stable: it stands in exports, links and people's scripts
	Severity Severity `json:"severity"`
	// Headline says what to believe of the numbers, and what not.
	Headline string `json:"headline"`
	// Remedy says what to do about it.
	Remedy string `json:"remedy"`
}

// rule finds one kind of thing. find leaves ID (and mostly Severity) to it.
type rule struct {
	Kind
	find func(*analysis) []Finding
}

// rules are all kinds of findings, in the order in which a report lists them.
var rules = []rule{
	{Kind{"emulated", Serious,
		"Emulated: do not use these times. They show that the system works, not what it costs.",
		"run the campaign where the hardware does what was emulated here"}, findEmulated},
	{Kind{"unequal-userland", Serious,
		"Unequal userland: not the same programs. A cost here is not the system's alone.",
		"compare with another machine of the same image, or measure a system that can run tare's userland"}, findOwnUserland},
	{Kind{"unequal-size", Serious,
		"Unequal size: the machine is not what the flavor says. Compare only what does not depend on it.",
		"give the machine the size of the flavor, or write its size into the flavor of all arms"}, findUnequalSize},
	{Kind{"unequal-arms", Warning,
		"Unequal arms: the campaign gives them another size on purpose. The cost is that of the size as well.",
		"compare arms of one flavor where you want the cost of the system"}, findUnequalArms},
	{Kind{"not-frozen", Info,
		"Not frozen: the machine was never stopped while others were measured.",
		"see that nothing runs in it between trials; a machine that idles disturbs little"}, findUnfrozen},
	{Kind{"did-not-finish", Warning,
		"Trials that did not finish. No time stands for them; how often they fail is the result.",
		"look at the raw output and the guest's log of the first one (tare report has both); give the flavor more memory or disk if that is what lacked"}, findFailures},
	{Kind{"out-of-memory", Warning,
		"Out of memory: a guest came to its limit. What it lacks in memory it pays in time, or does not finish.",
		"give the flavor more memory, or take it as the result that it is; the limit covers the same in all arms (tare systems says what)"}, findOutOfMemory},
	{Kind{"wrong-answer", Serious,
		"Wrong answer: the work was not done, however fast that was. No time stands for these trials.",
		"look at the raw output of these trials (tare report has it): what the tool says it did, and what it was asked to do"}, findWrongAnswer},
	{Kind{"impossible-arithmetic", Serious,
		"Impossible arithmetic: figures of one trial contradict each other. Believe none of them.",
		"look at the raw output, and at the guest's clock: a tool that divides by a wrong time is the usual cause"}, findImpossible},
	{Kind{"dropped-pairs", Warning,
		"Blocks without a partner were left out. Believe the costs only if what failed was not the slow ones.",
		"mend what made the trials fail, and run again; do not compare what is left"}, findDropped},
	{Kind{"no-control", Warning,
		"No control: how much this host varies by itself is unknown. No cost or gain is claimed.",
		"run to the end of a block at least; a campaign always has its control, so only its trials are lacking"}, findNoControl},
	{Kind{"control-differs", Serious,
		"The control differs: two of the same kind came out different. Believe only effects far larger.",
		"find what is not alike (tare doctor: SMT siblings, frequencies, NUMA), re-create guests more often (recreate_every), and run again"}, findControlDiffers},
	{Kind{"slow-trials", Warning,
		"Slow trials: the arm stalls more often than its baseline. The cost is that of the typical trial; stalls come on top.",
		"look at the dots of the report and at the 95th and 99th percentiles; more blocks tell how often it happens"}, findSlowTrials},
	{Kind{"no-steady-state", Warning,
		"No steady state: something changed while it was measured. Ratios hold where only the host did; absolute figures may not.",
		"look at the dots of the report for when it changed; let the machine warm up, fix its frequency, stop what else runs, and run again"}, findUnsteady},
	{Kind{"position", Info,
		"Position: the first trial of a group still costs more than the later ones. Orders are random, so no arm is favored.",
		"make trials longer (trial_time), so that what a start costs weighs less"}, findPosition},
	{Kind{"thaw", Info,
		"Thaw: a guest's first trial after it was frozen costs more than the next one.",
		"make trials longer (trial_time), so that what a thaw costs weighs less"}, findThaw},
	{Kind{"spread", Warning,
		"Values far apart: the mean describes them badly. Look at the distribution, and do not quote one figure.",
		"look for two modes in the report's dots; make trials longer (trial_time) or the machine quieter; quote the percentiles"}, findSpread},
	{Kind{"not-positive", Serious,
		"Values of zero or less: no ratio can be formed. Check what the tool printed.",
		"look at the raw output of these trials; a larger size gives the tool something to count"}, findNotPositive},
	{Kind{"no-variation", Warning,
		"No variation: the tool's figure is coarser than the noise. Nothing is claimed.",
		"make trials longer, so that one step of the figure is small against it, or choose a metric that tare times itself"}, findNoVariation},
	{Kind{"incarnations-differ", Info,
		"Guests of the same kind differ from one start to the next.",
		"re-create the guests more often (recreate_every): more guests tell better what another one would give"}, findIncarnations},
	{Kind{"few-guests", Info,
		"Few guests: what is said holds for these guests. Another of the same kind may differ from them.",
		"let the run go on, or re-create the guests more often (recreate_every): an interval over guests needs 4 of them"}, findFewGuests},
	{Kind{"few-boots", Warning,
		"Few boots: the host was not booted often enough to tell what another boot would give.",
		"let the run go on (tare resume); an interval over boots needs four rounds of them"}, findFewBoots},
	{Kind{"faster-than-baseline", Warning,
		"Faster than the baseline: seldom real. Ask first what was cached, and whether both did the same work.",
		"look at the other findings of this arm, at the metric with the flush, and at the host's CPU; quote it as a gain only when you can say where it comes from"}, findFaster},
	{Kind{"cached-writes", Serious,
		"Cached writes: what was written had not reached the disk. These are not the disk's times.",
		"give the guest a disk that passes its flushes on (QEMU: cache none, not unsafe; UML: ubd sync), or quote the metric with the flush (-flushed)"}, findCachedWrites},
	{Kind{"guest-clock", Serious,
		"The guest's clock is off. Believe the host's times, none that a tool in the guest printed.",
		"use the metrics of the host's clock; mend the guest's clock source (tare report names it), or its rate"}, findClock},
	{Kind{"hidden-cpu", Warning,
		"Hidden CPU: the guest does not see all that it costs. Plan capacity with the host's figure.",
		"use the column host CPU, not what the guest accounts for"}, findHiddenCPU},
	{Kind{"ceiling", Warning,
		"At a ceiling: both arms waited for the same limit. That they are alike says nothing of what the system costs.",
		"compare the host's CPU, or use a faster device, smaller blocks or more of them at once, so that the system is what limits"}, findCeiling},
	{Kind{"few-cap-periods", Warning,
		"Few periods of the CPU cap: trials are too short to show what the cap does.",
		"make trials longer (trial_time): 100 periods are 10 s"}, findFewCapPeriods},
	{Kind{"throttled", Info,
		"Throttled: the CPU cap was in force, and not alike in the arms. A part of the cost is the cap's.",
		"give the flavor a larger cpu_cap to see what the system costs without it"}, findThrottled},
	{Kind{"steal", Info,
		"CPU time was taken away by someone else. Neighbours are part of these figures.",
		"run on a machine of your own, or at another hour; more blocks make the interval honest, not narrower"}, findSteal},
	{Kind{"other-load", Warning,
		"Other load: the host was busy with something else. Costs hold if it was there all the time, absolute figures do not.",
		"stop what is named, or what tare doctor names where nothing is, and run again"}, findOtherLoad},
	{Kind{"host-distress", Warning,
		"Host in distress: the machine itself was in trouble during trials. Measure again when it is not.",
		"see the kernel's log (dmesg) for the cause: failing disks, too little memory, too much load; then run again"}, findDistress},
}

// Kinds lists all kinds of findings in the order in which reports show them.
func Kinds() []Kind {
	kinds := make([]Kind, len(rules))
	for i, r := range rules {
		kinds[i] = r.Kind
	}
	return kinds
}

// KindOf returns the kind of a finding by its ID. One that this tare does not
// know, from a later one's export, has no more than its ID.
func KindOf(id string) Kind {
	for _, r := range rules {
		if r.ID == id {
			return r.Kind
		}
	}
	return Kind{ID: id, Headline: id}
}
