package paper

// xenGuest and kvmGuest are the current systems most similar to the articles' guests.
var (
	// base is native or, on a host that was booted as Xen's dom0, dom0.
	base     = []string{nativeSystem, dom0System}
	xenGuest = []string{"xen-pv", "xen-pvh", "kvm", "qemu-tcg"}
	kvmGuest = []string{"kvm", "qemu-tcg"}
)

const mebi = 1. / (1 << 20)

func repeatAbclinuxu() *repetition {
	r := &repetition{
		article: "abclinuxu-xen-vs-kvm", baseline: "host",
		relatives: []relative{
			{system: "host", as: base},
			{system: "kvm-1/1", as: kvmGuest, part: wholeFlavor}, {system: "xen-1/1", as: xenGuest, part: wholeFlavor},
			{system: "kvm-1/4", as: kvmGuest, part: quarterFlavor}, {system: "xen-1/4", as: xenGuest, part: quarterFlavor},
			{system: "kvm", as: kvmGuest}, {system: "xen", as: xenGuest},
		},
		stages: []stage{
			{name: "solo", company: []string{"solo", "parallel"}, series: []string{"openssl-enc", "untar-kernel", "kernel-build", "dd-write"},
				sizes: map[string]int64{"openssl-enc": 5120, "untar-kernel": 2560, "dd-write": 16384}},
			{name: "crowd", company: []string{"crowd", "mixed"}, series: []string{"openssl-enc", "kernel-build"},
				sizes: map[string]int64{"openssl-enc": 5120}, heavy: 4},
			{name: "files", company: []string{"solo"}, series: []string{"file-ops"}, heavy: 2},
			{name: "net", company: []string{"pairs", "unequal"}, series: []string{"tcp-crr", "iperf3"}, heavy: 4, wired: true},
		},
		notes: []string{"netperf is not in Debian's main: tcp-crr and iperf3 stand in for it (see tare workloads)"},
	}
	for _, w := range []struct{ table, series string }{{"cpu", "openssl-enc"}, {"untar", "untar-kernel"}, {"kernel", "kernel-build"}} {
		time := func(scenario, stage, company string) figure {
			return figure{table: w.table, scenario: scenario, stage: stage, series: w.series, metric: "time", company: company, factor: 1}
		}
		r.figures = append(r.figures, time("solo", "solo", "solo"), time("7 parallel", "solo", "parallel"))
		if w.table == "untar" {
			continue
		}
		mixed := time("16+3", "crowd", "mixed")
		mixed.parts = true
		ratio := mixed
		ratio.statistic, ratio.ratio, ratio.whole = "ratio", true, true
		r.figures = append(r.figures, time("28 parallel", "crowd", "crowd"), ratio, mixed)
	}
	r.figures = append(r.figures, figure{table: "disk", statistic: "half-range", stage: "solo", series: "dd-write", metric: "cold-time", company: "solo", factor: 1, whole: true})
	for scenario, company := range map[string]string{"solo": "solo", "7 parallel": "parallel"} {
		r.figures = append(r.figures,
			figure{table: "disk", scenario: scenario, unit: "MiB/s", stage: "solo", series: "dd-write", metric: "cold-rate", company: company, factor: mebi, higher: true},
			figure{table: "disk", scenario: scenario, stage: "solo", series: "dd-write", metric: "cold-time", company: company, factor: 1})
	}
	r.figures = append(r.figures,
		figure{table: "net.1", workload: "TCP_CRR", stage: "net", series: "tcp-crr", metric: "rate", company: "pairs", factor: 1, higher: true},
		figure{table: "net.1", workload: "TCP_STREAM", stage: "net", series: "iperf3", metric: "bandwidth", company: "pairs", factor: 1e-6, higher: true},
		figure{table: "net.2", statistic: "ratio of data volume", stage: "net", series: "iperf3", metric: "bandwidth", company: "unequal", factor: 1, higher: true, ratio: true, whole: true},
		figure{table: "net.2", workload: "TCP_CRR", stage: "net", series: "tcp-crr", metric: "rate", company: "unequal", factor: 1, higher: true, parts: true},
		figure{table: "net.2", workload: "TCP_STREAM", stage: "net", series: "iperf3", metric: "bandwidth", company: "unequal", factor: 1e-6, higher: true, parts: true},
		figure{table: "iozone", scenario: "solo", stage: "files", series: "file-ops", metric: "io-time", company: "solo", factor: 1, change: true},
		figure{table: "iozone", why: "the article does not say how many guests ran in parallel"})
	return r
}

func repeatHabr() *repetition {
	r := &repetition{
		article: "habr-truevds-xen-disk", baseline: nativeSystem,
		relatives: []relative{{system: nativeSystem, as: base}, {system: "xen-pv", as: xenGuest}},
		stages: []stage{
			{name: "files", company: []string{"solo"}, series: []string{"file-copy[buffer=1024]", "file-copy[buffer=256]", "file-copy[buffer=4096]", "cpio-read"},
				sizes: map[string]int64{"cpio-read": 256}, heavy: 4},
			{name: "bonnie", company: []string{"solo"}, series: []string{"bonnie"}, sizes: map[string]int64{"bonnie": 1024}, scale: 0.25, heavy: 6},
		},
	}
	for _, c := range []struct {
		words, series string
		index         float64
	}{{"File Copy 1024", "file-copy[buffer=1024]", 3960}, {"File Copy 256", "file-copy[buffer=256]", 1655}, {"File Copy 4096", "file-copy[buffer=4096]", 5800}} {
		f := figure{table: "unixbench", workload: c.words, stage: "files", series: c.series, metric: "bandwidth", company: "solo", factor: 1. / 1024, higher: true}
		index := f
		index.statistic, index.factor = "index", f.factor/c.index*10
		r.figures = append(r.figures, index, f)
	}
	r.figures = append(r.figures, figure{table: "bonnie++", statistic: "cpu",
		why: "tare does not record bonnie++'s CPU percentages; the run file has the CPU time of the guest and the host"})
	for _, t := range []struct {
		words, metric string
		factor        float64
	}{
		{": putc", "write-char", 1. / 1024}, {": put_block", "write-block", 1. / 1024}, {": rewrite", "rewrite", 1. / 1024},
		{": getc", "read-char", 1. / 1024}, {": get_block", "read-block", 1. / 1024}, {": seeks", "seeks", 1},
		{": seq_create", "create", 1}, {": seq_stat", "stat", 1}, {": seq_delete", "delete", 1},
		{": ran_create", "create-random", 1}, {": ran_stat", "stat-random", 1}, {": ran_delete", "delete-random", 1},
	} {
		f := figure{table: "bonnie++", workload: t.words, stage: "bonnie", series: "bonnie", metric: t.metric, company: "solo", factor: t.factor, higher: true}
		latency := f
		latency.statistic, latency.metric, latency.factor, latency.higher = "max latency", t.metric+"-latency", 1e6, false
		r.figures = append(r.figures, latency, f)
	}
	cpio := func(statistic, metric string) figure {
		return figure{table: "cpio", statistic: statistic, stage: "files", series: "cpio-read", metric: metric, company: "solo", factor: 1}
	}
	r.figures = append(r.figures, cpio("real", "time"), cpio("user", "user"), cpio("sys", "system"),
		figure{table: "cpio", statistic: "archive size", why: "tare archives a different tree: part of Linux 6.1"})
	return r
}

func repeatLatgrid() *repetition {
	const dom0 = "Xen's dom0 needs a host that was booted into it: see tare systems, and campaigns with boots"
	r := &repetition{
		article: "latgrid-xen-veiktspeja", baseline: nativeSystem,
		relatives: []relative{
			{system: nativeSystem, as: base}, {system: "xen-dom0", as: []string{dom0System}, why: dom0},
			{system: "xen-domu-256", as: xenGuest}, {system: "xen-domu-512", as: xenGuest},
			{system: "xen-domu-2g", as: xenGuest}, {system: "xen-domu-3g", as: xenGuest},
		},
		stages: []stage{
			{name: "dd-1gb", company: []string{"solo"}, series: []string{"dd-write"}, sizes: map[string]int64{"dd-write": 1000}, scale: 0.1},
			{name: "dd-3gb", company: []string{"solo"}, series: []string{"dd-write"}, sizes: map[string]int64{"dd-write": 3000}, scale: 0.1},
			{name: "files-64mb", company: []string{"solo"}, series: []string{"file-ops"}, sizes: map[string]int64{"file-ops": 64}, scale: 0.1, heavy: 3},
			{name: "files-512mb", company: []string{"solo"}, series: []string{"file-ops"}, sizes: map[string]int64{"file-ops": 512}, scale: 0.1, heavy: 3},
			{name: "services", company: []string{"solo"}, heavy: 4, sizes: map[string]int64{}},
			{name: "web", company: []string{"in"}, heavy: 8, sizes: map[string]int64{}, wired: true},
			{name: "net", company: []string{"out"}, series: []string{"netpipe"}, heavy: 1, wired: true},
		},
		notes: []string{"for ab and netpipe, this host takes the place of the article's second machine; it reaches the guest over a bridge instead of a cable",
			"the article's guests had 256 MB to 3 GB of memory; here, all have the same amount"},
	}
	for size, words := range map[string]string{"dd-1gb": "1GB", "dd-3gb": "3GB"} {
		for pass, metric := range map[string]string{"pass 1": "cold", "pass 2": "overwrite"} {
			f := figure{table: "dd", scenario: words + " file, " + pass, unit: "s", stage: size, series: "dd-write", metric: metric + "-time", company: "solo", factor: 1}
			rate := f
			rate.unit, rate.metric, rate.factor, rate.higher = "MB/s", metric+"-rate", 1e-6, true
			r.figures = append(r.figures, f, rate)
		}
	}
	for _, size := range []string{"64", "512"} {
		r.figures = append(r.figures, figure{table: "iozone", scenario: size + "MB file", stage: "files-" + size + "mb", series: "file-ops", metric: "io-time", company: "solo", factor: 1})
	}
	services, web := &r.stages[4], &r.stages[5]
	serve := func(by *stage, series, workload, scenario string, size int64) {
		by.series, by.sizes[series] = append(by.series, series), size
		r.figures = append(r.figures, figure{workload: workload, scenario: scenario, stage: by.name, series: series, metric: "rate", company: by.company[0], factor: 1, higher: true})
	}
	for _, c := range []string{"1", "2", "10", "50"} {
		serve(web, "ab-static[clients="+c+"]", "ab -c "+c+" -n 5000 http://serveris/index.html", "", 5000)
		serve(web, "ab-status[clients="+c+"]", "ab -c "+c+" -n 5000 http://serveris/server-status", "", 5000)
		if c != "50" {
			serve(web, "wordpress[clients="+c+"]", "ab -c "+c+" -n 500 http://serveris/wp", "", 500)
			serve(web, "mediawiki[clients="+c+"]", "ab -c "+c+" -n 500 http://serveris/mediawiki", "", 500)
		}
	}
	for _, t := range []string{"1", "4", "16"} {
		serve(services, "sysbench-oltp-rw[threads="+t+"]", "sysbench", t+" threads, read-write", 10_000)
		serve(services, "sysbench-oltp-ro[threads="+t+"]", "sysbench", t+" threads, read-only", 100_000)
	}
	pipe := figure{table: "netpipe", statistic: "added latency against native", stage: "net", series: "netpipe", metric: "latency", company: "out", factor: 1e6, added: true}
	fastest := pipe
	fastest.statistic, fastest.metric, fastest.factor, fastest.higher, fastest.added = "maximum throughput", "bandwidth", mebi, true, false
	r.figures = append(r.figures, pipe, fastest,
		figure{table: "netpipe", statistic: "against dom0", why: dom0},
		figure{table: "netpipe", why: "the article states this for all systems together, about their network cards"})
	return r
}

func repeatPlatov() *repetition {
	return &repetition{
		article: "platov-vmware-vs-colinux", baseline: nativeSystem,
		relatives: []relative{
			{system: nativeSystem, as: base},
			{system: "colinux_part", as: []string{"uml"}, why: "coLinux is discontinued; User-Mode Linux also runs a kernel as a process"},
			{system: "colinux", as: []string{"uml"}, why: "coLinux is discontinued; User-Mode Linux also runs a kernel as a process"},
			{system: "vmware_part", as: kvmGuest, why: "VMware Workstation is proprietary; QEMU is also a hosted hypervisor"},
			{system: "vmware-bridged", as: kvmGuest, why: "VMware Workstation is proprietary"},
			{system: "colinux-nat", as: []string{"uml"}, why: "coLinux is discontinued"},
		},
		stages: []stage{
			{name: "cpu", company: []string{"solo"}, series: []string{"kernel-build", "cpu-kernels", "sysbench-memory-read[threads=1]",
				"sysbench-memory-read[threads=10]", "sysbench-memory-write[threads=1]", "memory-copy", "pipe-copy"}, heavy: 5},
			{name: "disk", company: []string{"solo"}, series: []string{"tio-seqread[threads=1]", "tio-seqread[threads=8]", "tio-randread[threads=1]",
				"tio-seqwrite[threads=1]", "tio-randwrite[threads=1]"}, heavy: 5},
			{name: "net", company: []string{"out"}, series: []string{"nuttcp"}, heavy: 1, wired: true},
		},
		notes: []string{"nuttcp stands in for ttcp; it sends from the guest to this host over a bridge instead of to another machine over a cable"},
		figures: []figure{
			{table: "kernel", stage: "cpu", series: "kernel-build", metric: "time", company: "solo", factor: 1},
			{table: "bogomips", why: "a calibration constant without meaning, as the article itself says"},
			{table: "ttcp", stage: "net", series: "nuttcp", metric: "bandwidth", company: "out", factor: 1e-6, higher: true},
			{table: "bw_pipe", why: "a bound on the ratio of two systems; see pipe-copy below for each system"},
			{table: "bw_mem", why: "a bound on a spread; see sysbench-memory-read with 1 and 10 threads below"},
		},
		extras: []Extra{
			{"cpu", "cpu-kernels", "P2-nbench"}, {"cpu", "sysbench-memory-read[threads=1]", "P3-bw_mem"}, {"cpu", "sysbench-memory-read[threads=10]", "P3-bw_mem"},
			{"cpu", "sysbench-memory-write[threads=1]", "P3-bw_mem"}, {"cpu", "memory-copy", "P3-bw_mem"}, {"cpu", "pipe-copy", "P10-bw_pipe"},
			{"disk", "tio-seqread[threads=1]", "P4-tio-seqread"}, {"disk", "tio-seqread[threads=8]", "P4-tio-seqread"},
			{"disk", "tio-randread[threads=1]", "P5-tio-randread"}, {"disk", "tio-seqwrite[threads=1]", "P6-tio-seqwrite"},
			{"disk", "tio-randwrite[threads=1]", "P7-tio-randwrite"},
		},
	}
}

func repeatYunweiku() *repetition {
	r := &repetition{
		article: "yunweiku-xen-kvm-lxc", baseline: "dom0",
		relatives: []relative{
			{system: "domU-lvm", as: xenGuest, why: "its volume is a loop device instead of LVM; the baseline here is the native system instead of Xen's dom0"},
			{system: "lxc-32core", as: []string{"lxc"}}, {system: "kvm-8core", as: kvmGuest},
		},
		stages: []stage{
			{name: "fio", company: []string{"solo"}, series: []string{"fio-randread", "fio-randwrite"}, sizes: map[string]int64{"fio-randread": 25600, "fio-randwrite": 25600}},
			{name: "kernel", company: []string{"solo"}, series: []string{"kernel-ops", "stress-ng-exec", "memory-copy"}},
		},
		extras: []Extra{{"kernel", "kernel-ops", "C3-lmbench"}, {"kernel", "stress-ng-exec", "C3-lmbench"}, {"kernel", "memory-copy", "C3-lmbench"}},
	}
	for _, op := range []string{"randread", "randwrite"} {
		for _, s := range []struct {
			words, metric string
			higher        bool
		}{{"throughput", "bandwidth", true}, {"IOPS", "iops", true}, {"latency", "latency", false}} {
			r.figures = append(r.figures, figure{workload: "-rw=" + op, statistic: s.words, stage: "fio", series: "fio-" + op, metric: s.metric,
				company: "solo", factor: 1, higher: s.higher, change: true})
		}
	}
	return r
}

// RepeatSystems returns the systems that repetitions may choose by default.
func RepeatSystems() []string {
	return []string{nativeSystem, dom0System, "xen-pv", "xen-pvh", "kvm", "qemu-tcg", "uml", "lxc"}
}
