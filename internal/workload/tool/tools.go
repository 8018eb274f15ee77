package tool

import "regexp"

// tools are all tools, in order of their names, with the versions whose output is in testdata or in a test.
var tools = []Tool{
	{"ab", "2.0.40 to 2.3", lines(abLines), begins(`This is ApacheBench,`)},
	{"bonnie++", "1.03 to 2.00", readBonnie, begins(bonnieBegins)},
	{"cpio", "GNU cpio 2", readCpio, nil},
	{"cpuinfo", "Linux", readCPUInfo, nil},
	{"dbench", "4.00", lines(dbenchLines), begins(`dbench version`)},
	{"dd", "coreutils, busybox, BSD and macOS; under LC_ALL=C", readDD, begins(`\d+\+\d+ records in$`)},
	{"fio", "1.59 to 3.x: text, JSON, and terse formats 2 to 5", readFio,
		begins(`(?:[^\n]*\(g=\d+\): rw=[^\n]*\n(?:\.\.\.\n)?)+fio-\d|\{$|\{"fio version"`)},
	{"hyperfine", "1.0 to 1.18", readHyperfine, begins(`Benchmark #?1: `)},
	{"ioping", "0.6 to 1.3", readIoping, begins(`.* (?:from|<<<|>>>) .*: request=1 time=`)},
	{"iozone", "3.x", readIozone, begins(`\tIozone: Performance Test of File I/O`)},
	{"iperf2", "2.0 and 2.1", readIperf2, begins(`-{20,}\n(?:Client connecting|Server listening)`)},
	{"iperf3", "3.0 to 3.17", readIperf3, begins(`Connecting to host |Accepted connection from |\{$|\{"event":"start"`)},
	{"kernel-build", "make 4.x", readMake, nil},
	{"lmbench", "3.0", readLmbench, nil},
	{"mbw", "1.4 and 2.0", readMbw, begins(`Long uses \d+ bytes`)},
	{"memaslap", "1.x", readMemaslap, begins(`servers ?: `)},
	{"nbench", "2.2.3", lines(nbenchLines), begins(`BYTEmark\* Native Mode`)},
	{"netperf", "2.6 and 2.7, also with histograms", readNetperf, begins(`(?:MIGRATED )?[A-Z][\w/| ]*? TEST from `)},
	{"netpipe", "3.x", readNetpipe, begins(`Send and receive buffers are`)},
	{"nuttcp", "6 to 8", readNuttcp, nil},
	{"openssl", "1.0 to 3.5", readOpenssl, nil},
	{"perf-bench", "Linux 3 to 6", readPerfBench, nil},
	{"pgbench", "9.0 to 17", readPgbench,
		begins(`(?:pgbench \([^\n]*\n)?(?:starting vacuum[^\n]*\n)?(?:progress: [^\n]*\n)*transaction type: `)},
	{"python", "3.7 to 3.13: -X importtime", readPython, nil},
	{"qperf", "0.4", readQperf, nil},
	{"redis-benchmark", "4 to 8", readRedis, nil},
	{"rt-tests", "1 and 2", readRTTests, nil},
	{"sockperf", "2.x and 3.x", readSockperf, begins(`sockperf: == version #`)},
	{"stress-ng", "0.03 to 0.17", readStressNG, begins(`.*dispatching hogs: `)},
	{"sysbench", "0.4, 0.5, 1.0 and 1.1", readSysbench, begins(`sysbench \d`)},
	{"tar", "GNU tar 1.x", readTar, nil},
	{"tare-http", "of this tare", readTareHTTP, begins(`\{"tool":"tare-http"`)},
	{"tcpbench", "OpenBSD", lines(tcpbenchLines), nil},
	{"tiobench", "0.3.3", readTiobench, nil},
	{"ttcp", "1.12", lines(ttcpLines), begins(`ttcp-[tr]: buflen=`)},
	{"unixbench", "4.1 to 6.0", readUnixbench, nil},
	{"wrk", "wrk 4, wrk2", readWrk, begins(`Running .* test @ `)},
	{"zstd", "1.x", readZstd, nil},
}

// begins matches the lines that a run prints first. They begin with the expression.
func begins(expr string) *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:` + expr + `)`) }
