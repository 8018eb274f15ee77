package analyze

// Kind is a kind of finding. Its page is docs/findings/ID.md.
type Kind struct {
	ID       string   `json:"id"` // stable: exports, links and scripts contain it
	Severity Severity `json:"severity"`
	// Headline says which numbers to believe.
	Headline string `json:"headline"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
}

// rule finds one kind of finding. find leaves ID and Remedy empty; an empty Severity means the
// kind's own.
type rule struct {
	Kind
	find func(*analysis) []Finding
}

// rules are all kinds of findings, in the order of a report.
var rules = []rule{
	{Kind{"emulated", Serious,
		"Emulated: do not use these times. They show that the system works, not what it costs.",
		"run the campaign on a host with hardware virtualization"}, findEmulated},
	{Kind{"unequal-userland", Serious,
		"Unequal userland: the arms ran different programs. The cost is not that of the system alone.",
		"compare two machines that run the same image, or measure a system that can run tare's image"}, findOwnUserland},
	{Kind{"unequal-size", Serious,
		"Unequal size: the machine does not have the size of its flavor. Compare only figures that do not depend on " +
			"the size.",
		"give the machine the size of the flavor, or set the flavor of all arms to the machine's size"}, findUnequalSize},
	{Kind{"unequal-arms", Warning,
		"Unequal arms: the campaign gives the arms different sizes. The cost includes the difference in size.",
		"compare arms of one flavor to get the cost of the system"}, findUnequalArms},
	{Kind{"unequal-confinement", Info,
		"Unequal confinement: system calls pass more filters in one arm than in another. The cost includes the filters.",
		"give both arms a flavor with hardening: none to compare the systems without filters"}, findUnequalConfinement},
	{Kind{"unequal-features", Info,
		"Unequal features: the CPU that guests see has other instructions than the baseline's. The cost includes that.",
		"give the guest the host's CPU (QEMU: -cpu host; libvirt: <cpu mode='host-passthrough'/>), or report it as the " +
			"cost of that CPU model"}, findUnequalFeatures},
	{Kind{"unequal-mitigations", Info,
		"Unequal mitigations: the guests' kernel does something else about the CPU's vulnerabilities than the baseline's. " +
			"The cost includes that.",
		"boot both kernels with the same mitigations= and of the same age, and let the guest see the flags of the " +
			"microcode (md_clear, spec_ctrl, ssbd)"}, findUnequalMitigations},
	{Kind{"slow-clock", Warning,
		"Slow clock: reading the time takes much longer in one arm. Programs that do so often measure the clock.",
		"give the guest a clock that is read without leaving it: tsc or kvm-clock (QEMU: -cpu host,+invtsc; Xen: " +
			"tsc_mode), and boot it with clocksource=tsc"}, findSlowClock},
	{Kind{"not-frozen", Info,
		"Not frozen: the machine kept running while other arms were measured.",
		"make sure that nothing runs on it between trials; an idle machine disturbs little"}, findUnfrozen},
	{Kind{"did-not-finish", Warning,
		"Did not finish: these trials have no value. How often they fail is a result in itself.",
		"look at the raw output of the first one (tare report has it) and at the guest's log (in the run file); give the " +
			"flavor more memory or disk if it ran out"}, findFailures},
	{Kind{idleNeighbour, Serious,
		"Idle neighbour: a neighbour failed or did no work: nothing disturbed the guest. Do not believe its isolation.",
		"look at the output of the neighbour's trials (tare report has it); give the flavor more of what it lacks"},
		findIdleNeighbours},
	{Kind{"out-of-memory", Warning,
		"Out of memory: a guest reached its memory limit. Its trials take longer, or fail.",
		"give the flavor more memory, or report it as a result; what the limit covers depends on the system (tare systems " +
			"--json, memory)"}, findOutOfMemory},
	{Kind{"swapped", Warning,
		"Swapped: memory was moved to swap or back during trials. They measured the swap, too.",
		"give the guests less memory or run fewer at once, so that the host need not swap (swapoff -a makes sure); give a " +
			"guest that swaps by itself more memory"}, findSwapped},
	{Kind{"wrong-answer", Serious,
		"Wrong answer: the tool exited normally without doing its work. These trials have no value.",
		"look at the raw output of these trials (tare report has it): compare what the tool says it did with what it was " +
			"asked to do"}, findWrongAnswer},
	{Kind{"impossible-arithmetic", Serious,
		"Impossible arithmetic: figures of one trial contradict each other. Believe none of them.",
		"look at the raw output and at the guest's clock: the usual cause is a tool that divides by a wrong time"},
		findImpossible},
	{Kind{"warm-start", Serious,
		"Warm start: the page cache held files of the guest although a cold one was asked for. These are not cold starts.",
		"keep the campaign free of other workloads, whose guests keep files in memory; tare must be allowed to write " +
			"/proc/sys/vm/drop_caches"}, findWarmStart},
	{Kind{"cold-restoration", Warning,
		"Cold restoration: a part of the saved state was read from the disk although a warm page cache was asked for.",
		"measure again, with fewer guests at once if the host has too little memory for their saved states"},
		findColdRestoration},
	{Kind{"phases-differ", Serious,
		"Phases differ: the phases of a start do not add up to its time. Believe neither.",
		"look at the trials in the export; run again with the same version of tare on an unchanged run file"},
		findPhasesDiffer},
	{Kind{"few-starts", Info,
		"Few starts: too few for an interval of a high percentile, which is left out.",
		"raise blocks.max and the budget: an interval needs 72 starts for p95 and 368 for p99"}, findFewStarts},
	{Kind{"most-reached", Warning,
		"Most reached: fills ended at the campaign's most without breaking a limit. The result is only a lower bound.",
		"raise most, or set limits that guests can break: a smaller slowdown, more memory_left"}, findMostReached},
	{Kind{"disturbed-probe", Serious,
		"Disturbed probe: the probe was slow before there were other guests. Too many guests seem to fit.",
		"stop other programs (tare doctor) and run again, or use only limits that need no probe: start, memory_left"},
		findDisturbedProbe},
	{Kind{"few-fills", Info,
		"Few fills: too few for an interval of how many guests fit, or for a number that nearly every fill reaches.",
		"raise blocks.max and the budget: an interval needs 6 fills and a tolerance limit 29"}, findFewFills},
	{Kind{"dropped-pairs", Warning,
		"Dropped pairs: blocks in which only one arm has a value were left out. Believe the costs only if the failed " +
			"trials were not the slow ones.",
		"fix what made the trials fail and run again; do not rely on the remaining blocks"}, findDropped},
	{Kind{"no-control", Warning,
		"No control: how much this host varies by itself is unknown. No cost or gain is claimed.",
		"let the run go on until the A/A control has trials in at least two blocks; if they failed, find out why"},
		findNoControl},
	{Kind{"control-differs", Serious,
		"The control differs: the baseline and its A/A control are identical but gave different results. Believe only much " +
			"larger effects.",
		"find out why they differ (tare doctor: SMT siblings, frequencies, NUMA), re-create guests more often " +
			"(recreate_every), and run again"}, findControlDiffers},
	{Kind{"slow-trials", Warning,
		"Slow trials: the arm stalls more often than its baseline. The cost is that of a typical trial; stalls add to it.",
		"look at the dots of the report and at the 95th and 99th percentiles; more blocks show more precisely how often " +
			"it stalls"}, findSlowTrials},
	{Kind{"no-steady-state", Warning,
		"No steady state: something changed during the run. Ratios hold if only the host changed; absolute figures may not.",
		"look at the dots of the report to see when it changed; let the machine warm up, fix its frequency, stop other " +
			"programs, and run again"}, findUnsteady},
	{Kind{"changed-midway", Warning,
		"Changed midway: the run was resumed on a changed machine. Its figures are a mean over both states.",
		"run the campaign again in one session; or resume only on an unchanged machine"}, findChanged},
	{Kind{"position", Info,
		"Position: the first trial of a group differs from the later ones. The order of arms is random, so no arm is " +
			"favoured.",
		"make trials longer (trial_time), so that the difference weighs less"}, findPosition},
	{Kind{"thaw", Info,
		"Thaw: a guest's first trial after a thaw differs from the next one.",
		"make trials longer (trial_time), so that a thaw weighs less"}, findThaw},
	{Kind{"spread", Warning,
		"Widely spread values: the mean describes them badly. Look at the distribution; do not quote a single figure.",
		"look for two modes in the report's dots; make trials longer (trial_time) or the machine quieter; quote the " +
			"percentiles"}, findSpread},
	{Kind{"not-positive", Serious,
		"Values of zero or less: they have no ratio. Check what the tool printed.",
		"look at the raw output of these trials; a larger size gives the tool something to count"}, findNotPositive},
	{Kind{"no-variation", Warning,
		"No variation: the tool's figure is coarser than the noise. Nothing is claimed.",
		"make trials longer, so that a step of the figure is small compared with the figure, or choose a metric that " +
			"tare times itself"}, findNoVariation},
	{Kind{"guests-differ", Info,
		"Guests differ: guests of the same arm differ by more than their trials do.",
		"re-create guests more often (recreate_every): with more guests the interval becomes narrower"}, findGuestsDiffer},
	{Kind{duetDiffers, Warning,
		"Duet differs: run at once with the other arms, an arm costs another share of CPU time than alone. Believe the " +
			"figure alone.",
		"leave duets out (duets: no), or make trials longer (trial_time); docs/duets.md says what company costs"},
		findDuetDiffers},
	{Kind{"few-guests", Info,
		"Few guests: the results hold for these guests. Another guest of the same arm may differ.",
		"let the run go on, or re-create guests more often (recreate_every): an interval over guests needs 4 of them"},
		findFewGuests},
	{Kind{"few-latencies", Info,
		"Few latencies: the highest percentiles are not compared, because too few single latencies are beyond them.",
		"make trials longer (trial_time), or let the run go on with the same guests (recreate_every)"}, findFewLatencies},
	{Kind{"overload", Serious,
		"Overload: the server answered fewer requests than were due. " +
			"The latencies are those of a queue that grows with the trial.",
		"lower the rate until every arm keeps up with it, or quote the achieved rate instead of latencies"}, findOverload},
	{Kind{"late-requests", Warning,
		"Late requests: the load generator itself was late. The latencies include that delay.",
		"lower the rate, or give the guest more CPUs: the load generator runs in it beside the server"}, findLateRequests},
	{Kind{"slow-sender", Serious,
		"Slow sender: packets were sent at less than the workload's rate. The loss is that at the lower rate.",
		"lower the rate until every arm's sender reaches it, or give the guest that sends more CPU"}, findSlowSender},
	{Kind{"full-socket", Info,
		"Full socket: most lost packets had arrived, and the receiving program was too slow. The network did not lose them.",
		"give the guests CPUs of their own, or lower the rate to see what the network loses"}, findFullSocket},
	{Kind{"lost-round-trips", Warning,
		"Lost round trips: messages without an answer have no latency. The percentiles look too good.",
		"quote the loss beside the percentiles, or use tcp-rtt, which sends lost messages again"}, findLostRoundTrips},
	{Kind{"few-boots", Warning,
		"Few boots: the host was booted too few times to say what another boot would give.",
		"let the run go on (tare resume): an interval over boots needs 4 rounds of them"}, findFewBoots},
	{Kind{"faster-than-baseline", Warning,
		"Faster than the baseline: rarely real. First ask what was cached, and whether both did the same work.",
		"look at the other findings of this arm, at the metric with the flush, and at the host's CPU time; quote it as a " +
			"gain only if you can explain it"}, findFaster},
	{Kind{"cached-writes", Serious,
		"Cached writes: the data had not reached the disk when the trial ended. These are not the disk's times.",
		"give the guest a disk that honours flushes (QEMU: cache none, not unsafe; UML: ubd sync), or quote the metric " +
			"with the flush (-flushed)"}, findCachedWrites},
	{Kind{"cached-reads", Serious,
		"Cached reads: the device did not deliver what the workload read. These are not the disk's times.",
		"give the guest a disk that bypasses the host's page cache (QEMU: cache none), read more than fits into the host's " +
			"memory, or say that the figure is that of a cache"}, findCachedReads},
	{Kind{"guest-clock", Serious,
		"The guest's clock is off. Believe the host's times, not those that a tool in the guest printed.",
		"use the metrics of the host's clock; fix the guest's clock source (tare export --format json names it) or its rate"},
		findClock},
	{Kind{"hidden-cpu", Warning,
		"Hidden CPU: the guest does not see all the CPU time that it costs. Plan capacity with the host's figure.",
		"use the columns CPU time and host CPU, not the guest's own accounting"}, findHiddenCPU},
	{Kind{"ceiling", Warning,
		"At a ceiling: both arms waited for the same limit. Their equal times do not show what the system costs.",
		"compare the host's CPU time, or use a faster device, smaller blocks or more of them in flight, so that the system " +
			"is the limit"}, findCeiling},
	{Kind{"no-energy", Warning,
		"No energy: the energy counters cannot be believed for these trials. The workload's energy is left out.",
		"make trials longer (trial_time); if a counter stands still, compare it with `turbostat` or `perf stat -e " +
			"power/energy-pkg/`, and update the firmware"}, findNoEnergy},
	{Kind{"few-cap-periods", Warning,
		"Few periods of the CPU cap: the trials are too short to show what the cap does.",
		"make trials longer (trial_time): 100 periods take 10 s"}, findFewCapPeriods},
	{Kind{"throttled", Info,
		"Throttled: a CPU cap did not limit all arms equally. Part of the cost is the cap's.",
		"raise cpu_cap in the flavor to see what the system costs without the cap"}, findThrottled},
	{Kind{"cap-leaks", Warning,
		"Cap leaks: the guest got more than its cap of I/O or of the network. Do not rely on this cap to isolate guests.",
		"see docs/limits.md for what each cap covers: buffered writes escape the caps of control groups of version 1, " +
			"and short trials are mostly a burst"}, findCapLeaks},
	{Kind{"cap-bursts", Warning,
		"Cap lets bursts pass: in some seconds, the guest got far more than its cap of I/O, though not on average.",
		"see docs/limits.md for what each cap covers: with control groups of version 1, the journal escapes it"},
		findCapBursts},
	{Kind{"cap-not-reached", Info,
		"Cap not reached: the guest got less than its cap of I/O or of the network, but another arm reached it.",
		"compare CPU times: the system itself limits the guest before the cap does; report it as a result"},
		findCapNotReached},
	{Kind{"cap-noise", Warning,
		"Cap hidden by noise: the interval is too wide to tell whether a cap of I/O or of the network holds.",
		"run more blocks, make the trials longer, or keep others from using the device or the network"}, findCapNoise},
	{Kind{"cap-not-tested", Info,
		"Cap not tested: no workload came near a cap of I/O or of the network. Nothing is known about whether it holds.",
		"add a workload that asks for more than the cap allows, or lower the cap"}, findCapNotTested},
	{Kind{"steal", Info,
		"Steal: a hypervisor gave the host's CPUs to other guests. Their load is part of these figures.",
		"run on a machine of your own, or at another time"}, findSteal},
	{Kind{"other-load", Warning,
		"Other load: the host was busy with something else. Costs hold if the load was constant; absolute figures do not.",
		"stop the programs that the finding names, or if it names none, those that tare doctor names; then run again"},
		findOtherLoad},
	{Kind{"host-distress", Warning,
		"Host in distress: the host itself was in trouble during trials. Measure again when it is healthy.",
		"look for the cause in the kernel's log (dmesg): failing disks, too little memory, too much load; then run again"},
		findDistress},
}

// Kinds lists all kinds of findings in the order of a report.
func Kinds() []Kind {
	kinds := make([]Kind, len(rules))
	for i, r := range rules {
		kinds[i] = r.Kind
	}
	return kinds
}

// formerIDs are those of kinds in exports before version 4.
var formerIDs = map[string]string{"incarnations-differ": "guests-differ"}

// FindKind returns the kind with an ID, which may be a former one.
func FindKind(id string) (k Kind, ok bool) {
	if now, renamed := formerIDs[id]; renamed {
		id = now
	}
	for _, r := range rules {
		if r.ID == id {
			return r.Kind, true
		}
	}
	return Kind{}, false
}

// KindOf returns the kind of a finding by its ID. For a kind that only a later version of tare
// knows, it has nothing but the ID.
func KindOf(id string) Kind {
	if k, ok := FindKind(id); ok {
		return k
	}
	return Kind{ID: id, Headline: id}
}
