package tool

import "regexp"

// withoutFigures are the parts of each tool's output whose numbers are no figures: settings, versions, dates,
// numbers of rows, and figures that the tool repeats in a rounded form. They are all that a reader may leave out.
var withoutFigures = compiled(map[string][]string{
	"*": {`^(?:PS )?[A-Z]:\\[^\n]*>.*$`, `^(?:[➜❯»] |# (?:\./|sudo |time |for )).*$`, `^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [^\[\n]*\d\d:\d\d:\d\d[^\[\n]* \d{4}(?: [A-Z]{2,5})?$`,
		`^Linux \S+ \d+\.\d+\..*$`, `^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+|\[ *\d+\.\d+\]) (?:kernel|systemd)\b.*$`,
		`^\[?\S+@\S+[:~ ].*[#$%] .*$`, `^\[ *\d+\.\d{6}\] .*$`, `^(?:bash|sh)-[\d.]+[#$].*$`, `^Microsoft Windows \[.*$`, `^\(c\) .*Microsoft.*$`, `^\+ [\w./-]+ .*$`, `^.*setlocale.*$`, `^\$ .*$`, `\b\d+m\b`, `^(?:real|user|sys)[\t ]+\d+m`, `^[\t ]+Command being timed: .*$`, `^[\t ]+Exit status: 0$`},
	"7z": {`^ ?64-bit .*$`, `^ mt\d+$`, `^PageSize.*$`, `^\d+T CPU.*$`, `^7-Zip .*$`, `^p7zip Version.*$`, `^(?:CPU Freq|\d+ ?[KMG]?Hz|\d+T CPU Freq|freq|LE|Intel|AMD|x64|x86|hw\.).*$`, `^ +\d+ MB.*$`,
		`^\d+T .*$`, `^.*\bCPU @.*$`, `^Page size.*$`, `^Compiler.*$`, `64-bit`},
	"stream": {`^ +\(= \d+ clock ticks\)$`, `^you are not getting.*$`, `^STREAM version.*$`, `^Function .*$`, `^ The \*best\*.*$`, `^Solution Validates.*$`, `^Each kernel will.*$`, `Offset = \d+`,
		`\(= [\d.]+ Gi?B\)`},
	"hdparm": {`^/dev/.*$`},
	"ab": {`^This is ApacheBench.*$`, `^Copyright.*$`, `^Benchmarking.*$`, `^(?:Completed|Finished) \d+ requests$`,
		`^(?:Server|Document Path|SSL|TLS).*$`},
	"bonnie++": {`^\S+ +-Create-- .*$`, `^\S* +\d+[KMGT]?(?::\S*)?(?: +(?:[\d.]+[kmg]?|\+{3,})){12}$`, `^1\.9\d\w?,[\d.a-z]+,[^,]*,`, `:\d+:\d+(?:/\d+)?,`, `^Using uid.*$`, `^Version +\d.*$`, `^(?:Name|Machine|Concurrency|files:max|Latency|vm|host) .*$`,
		`^ {6,}[\d:/]+ .*$`,
		`^1\.9\d,[\d.a-z]+,\w+,`, `,8192,5,`, `,1024,16,,2\b`, `^format_version.*$`},
	"dbench": {`^dbench version.*$`, `^Running for.*$`, `^\d+ clients started$`, `^\d of \d processes.*$`, `^ +\d  cleanup.*$`,
		`^failed to create.*$`},
	"dd": {`, [\d.]+[kMGT]?B/s$`, `\([\d.]+ bytes/sec\)`, `\(.*\) copied`, `, [\d.]+ [kMGT]?B/s$`}, // rounded; the reader calculates it
	"iperf2": {`^\[ *\*?\d+\] local .*$`,
		`^(?:Client connecting|Server listening|TCP window|UDP buffer|Sending|Write buffer|Read buffer|TOS set).*$`,
		`^\d{14},127.0.0.1,\d+,127.0.0.1,\d+,\d+,[\d.]+-[\d.]+,`, `^\[SUM-\d\]`, `\d+/0\(0\) pkts`, `\d+\.\d+-\d+\.\d+ sec`,
		`\(tot/err\) = \d/\d$`, `^\[ +\*?\d+\]`},
	"iperf3": {`\](?:\[[TR]X-[CS]\])? +0\.00-`, `^Server listening on .*$`, `^\{"event":"start".*$`, `^\t?Server listening.*$`, `^.*\[ *\d+\] local .*$`,
		`^.*(?:Connecting to host|Accepted connection|Reverse mode).*$`, `^iperf 3.*$`, `^Linux .*$`,
		`^Control connection MSS.*$`, `^Time: .*$`, `^ *Cookie: .*$`, `^ *TCP MSS.*$`, `^Starting Test.*$`,
		`^.*Target Bitrate.*$`, `^Setting UDP.*$`,
		`^\w{3} \w{3} \d+ [\d:]+ \d{4} `, `(?s)"start":\s*\{.*?\n\t\},`, `"socket":\s*\d+`, `\[(?: *\d+)\]`, `test #\d`},
	"lmbench": {`\b(?:x86_64|i\d86|aarch64|riscv64|ppc64)\S*`, `L M B E N C H .*$`, `^Host  +OS .*$`, `^ {20,}[A-Za-z].*$`, `^.*\d{2}K File.*$`, `^\S+ +Linux \S+`, `^\[.*\]$`, `^"\w+=\w+`, `^\d+k\t`},
	"unixbench": {`^ +System -- .*$`, `^ +(?:Start|End) Benchmark Run: .*$`, `^ +BYTE UNIX Benchmarks.*$`, `^ +\d+ interactive users\.$`, `^ +[\d:]+ up .*$`, `^ +\S+ +\d+ +\d+ +\d+ +\d+% .*$`, `(?s)^.*?\nBenchmark Run:[^\n]*\n[^\n]*`, `(?s)\n-{20,}\nBenchmark Run:[^\n]*\n[^\n]*`,
		`^(?:COUNT|TIME)\|.*$`, `^make.*$`},
	"ping": {`^\d+ bytes from .*ttl=\d+`, `^PING .*$`, `^--- .*$`, `^\d+ bytes from .*(?:seq|ttl)=`},
	"hyperfine": {`^Benchmark #?\d+: .*$`, `^  Warning: .*$`, `than '[^']*'`, `'[^']*' ran`, `^sleep [\d.]+,`,
		"`sleep [\\d.]+`", `"exit_codes": \[[^\]]*\]`, `"command": .*`, `"parameters": \{[^}]*\}`, `"n": .*`},
	"memaslap": {`^servers: .*$`, `^[sg]et proportion: .*$`},
	"mbw":      {`^Long uses .*$`, `^Using .*$`},
	"cpio":     {`^[dl-][rwx-]{9} .*$`, `^tree/.*$`},
	"tar": {`^[dl-][rwx-]{9} .*$`, `^tree/.*$`, `^tar: .*$`, `\([\d.]+[KM]?i?B, `, `MiB/s\)`,
		`^Total bytes deleted:`},
	"kernel-build":      {`^Kernel: .*$`, `^  (?:[A-Z]\w*(?: \[M\])?) .*$`},
	"tare-http":         {`"(?:url|latencies|first_error)":"[^"]*"`},
	"memtier_benchmark": {`^\[RUN .*$`, `^Type +<= msec .*$`, `^\[.*%.*\] .*$`, `^Type .*p\d.*$`},
	"nbench":            {`^(?:BYTEmark|Index-split|Linux/Unix|Baseline|CPU  |L2 Cache|OS  |C compiler|libc|   +:).*$`},
	"netpipe":           {`^Send and receive.*$`, `^Sending output.*$`, `^ *\d+: `},
	"ioping":            {`^[\d.]+ \w+ (?:from|to) .*: `, `^--- .*$`, `^.*\d+ KiB (?:<<<|>>>) .*: `, `"(?:timestamp|localtime|fstype|device_size|size)": .*$`},
	"perf-bench": {`^Run summary.*$`, `fdmap: .*? \[`, `futex(?:es)?: .*? \[`, `^# Copying.*$`, `^Nesting.*$`,
		`^Setting RLIMIT.*$`,
		`^# function.*$`, `^ #.*(?:tasks will|mem operations|Running main).*$`, `on CPU 0`, ` of \d+ threads`},
	"tiobench": {`\(2\^20.*`, `>\d+ ?s(?:ec)?`, `^(\S+ +\d+ +\d+ +\d+)`},
	"ttcp":     {`^ttcp-[tr]: buflen=.*$`, `^ttcp-r: accept from.*$`, `[\d:]+real`, `I/O`},
	"nuttcp": {`^nuttcp-[tr]: (?:v6|buflen|time limit|(?:send|available send) window).*$`, `with mss=\d+`, `[\d:]+real`,
		`127\.0\.0\.1`}, "qperf": {`^ +\w+_(?:node|cpu|os|qperf) +=  .*$`},
	"rt-tests": {`^Thread \d+ Interval`, `^# /dev/cpu.*$`, `^T: *\d+ \( *\d+\) P: *\d+`, ` I: *\d+ `, `^#\d+: ID.*, Cyc`, `^# Thread.*$`,
		`^\d{6} `, `\b000000\b`,
		`"(?:file_version|start_time|end_time|test_start|sysname|release|version|cmdline|machine|nodename|realtime)": .*$`,
		`"\w+": "[^"]*"`, `"return_code": 0`, `^# Break.*$`, `^policy:.*$`, `^(?:Max|Online) CPUs.*$`, `Interval: \d+`,
		`"(?:cpu|node)": -?\d+`, `"(?:cmdline:|rt_test_version:|num_threads|resolution_in_ns)": .*`, `^ *"\d+": \{`,
		`^ *T: .*C: +0 .*$`},
	"sockperf": {`avg-(?:latency|rtt|lat)= *[\d.]+`, `^sockperf: \[?.*(?:tid|CPU|Warmup).*$`, `^.*version #.*$`, `^\[ \d+\] IP.*$`, `using msg-size.*$`, `Server No: \d`},
	"tcpbench": {`^Conn: +\d+`}, "wrk": {`^ *Thread Stats .*$`, ` 1/\(1-Percentile\)$`, `^Running .*$`, `^Making \d+ requests.*$`, `^ *\d+ threads and .*$`},
	"netperf": {`^.* TEST from .*$`, `10\^6bits/s(?:ec)?`, `=-\S+$`, `,-[\d.]+`, `0xf+e?`, `"netperf .*"`,
		`, ?[\w-]{36},`, `[\d.]+\.0\.0\.\d|0\.0\.0\.0`, `  -1\.00\d?`,
		`=netperf.*$`, `=[\w-]{36}$`, `^\w+,\w+,\w+.*\D9\dth.*$|Socket Type,.*$|Throughput,Throughput Units.*$`},
	"openssl": {`^\+DTP?:.*:\d+(?::\d+)?$`, `^OpenSSL \d.*$`, `^\(C\) .*$`, `^(?:version|built on|options|compiler|CPUINFO):.*$`, `(?:\(.*\) copied|, [\d.]+ [kMGT]?B/s$)`, `^task \d`,
		`^(?:Got: )?\+[FR]\d*:(?:\d+:)?`, `-pbkdf2`, `for 1s`, `^Forked child \d+$`, `in 1000s of`},
	"fio": {`^ *"port" : \d+,?$`, `^ *"[^"]+" : 0(?:\.0+)?,?$`, `^ +mixed: IOPS=0, BW=0 .*$`, `^ *"[\w -]+" : "[^"]*",?$`, `\([\d.]+[kMGT]?(?:-[\d.]+[kMGT]?)?\)`, `BW=[\d.]+[KMGT]?i`, `^fio-\d.*$`, `^\.\.\.$`, ` pid=\d+: .*$`, `"(?:fio version|timestamp\w*|time|job_start|groupid|eta|rw|bs|size|iodepth|numjobs|direct|io_size|\w*r` +
		`untime_?|name|jobname|filename|percentile_list)" : .*$`,
		`^.*\(g=\d+\): rw=.*$`, `^fio-3.*$`, `^Starting \d.*$`, `\(groupid=.*$`, `^Run status group \d+`,
		`\([\d.]+[kMG]?B(?:/s)?(?:-[\d.]+[kMG]?B/s)?\)`,
		`BW=[\d.]+[KMGT]?i?B/s`, `IOPS=[\d.]+k?`, `; 0 zone resets`, `^[345];fio-[\d.]+;[^;]*;\d+;`, `[\d.]+%=0;`,
		`^Jobs: .*$`, `Laying out IO file.*$`},
	"iozone": {`^.*inaccurate results\. Sizes .*$`, `^"[^"]*"[ \d.]+$`, `^\tIozone: (?s:.*?)\tRun began:.*$`, `^\t\s*(?:Version|Compiled|Build).*$`, `^\tCommand line used:.*$`,
		`^\t(?:Time Resolution|Processor cache|File stride|Using m\w+imum|File size set|Record Size|CPU utilization Re` +
			`solution) .*$`,
		`^\t(?:Min|Max) process.*$`, `^\t(?:Throughput test with|Each process writes).*$`, `^ *"\d+"( *"\d+")*`,
		`^"Record size.*$`},
	"zstd": {`^\*\*\* .*$`, `^--(?:zstd|format)=.*$`, `^ .-.*(?:-> *|\),|MB/s,? *)$`, `^ [^ ]-.* +[\d.]+ MB/s $`,
		`: [\d.]+ [KMG]iB \(`,
		`^Check: .*$|XXH64`},
	"pgbench": {`^pgbench: setting random seed to \d+$`, `^starting vacuum.*$`, `^transaction type: .*$`, `^pgbench \(.*$`, `^SQL script \d`, `/\d+ `, `: \d+/\d+$`, `\(100%\)`},
	"redis-benchmark": {`^[\w ()]+: -?[\dnan.]+ *$`, `^.*: rps=.*$`, `^  (?:keep alive|host configuration|multi-thread).*$`, `^ +avg .*$`,
		`"p\d+_latency_ms"`},
	"sysbench": {`^Number of (?:random|IO) requests.*$`, `^Primer numbers limit.*$`, `^Doing .*$`, `^Initializing.*$`, `^Threads started.*$`, `^Random number generator seed.*$`, `^\(last message repeated.*$`, `^sysbench .*$`, `^Maximum prime.*$`, `^Using Special.*$`, `^Maximum number.*$`, `^Memory .*$`,
		`^(?:Number of threads|Prime numbers limit|Block size|Report|Debug|Target).*$`,
		`^\d+ files, .*$`, `^.*total file size$`,
		`^  (?:block size|total size):.*$`, `Periodic FSYNC.*$`, `^Read/Write ratio.*$`, `^Extra file.*$`, `^Running.*$`,
		`^DEBUG: Worker.*$`, `\(ms,\d+%\)`},
	"stress-ng": {`: [a-z][\w-]* \(\d+\).*$`, `^.*\busing \S+ .*per stressor instance.*$`, `^.*(?:dispatching hogs:|setting to a ).*$`, `defaulting to a .*$`, `^stress-ng: (?:[\d:.]+ )?\w+: *\[\d+\] `, `^setting to a .*$`,
		`^dispatching hogs:.*$`, `^.*(?:CPU cache size|stream: ).*$`,
		`^.*debug: (?s:.*?)$`, `(?s)^system-info:.*?\n\n`,
		`^(?:invoked|system|RAM|temporary|\d processors|cache allocate|process|cpu:).*$`,
		`^.*\[\d+\] \(instance \d\)$`, `^(?:\d stressors? started|stress-ng 0\..*)$`},
})

// compiled compiles the expressions, in which ^ and $ are the ends of a line.
func compiled(all map[string][]string) map[string][]*regexp.Regexp {
	to := map[string][]*regexp.Regexp{}
	for tool, exprs := range all {
		for _, expr := range exprs {
			to[tool] = append(to[tool], regexp.MustCompile("(?m)"+expr))
		}
	}
	return to
}
