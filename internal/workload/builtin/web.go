package builtin

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// page is a page that a web workload requests.
type page struct {
	path   string
	marker string // text that only the right page has: an error page can be fast
	varies bool   // its length varies by a few bytes
	grows  bool   // it is longer with more clients
	// slow: it takes tens of milliseconds. ab writes the single latencies in whole ms, which says nothing of fast pages.
	slow bool
}

var clientsParam = workload.Param{Name: "clients", Default: "1", Min: 1, Max: 1000, About: "concurrent requests"}

// apacheAB completes a workload in which ab requests a page from Apache.
func apacheAB(w *workload.Workload, set workload.Settings, p page, disk int64,
	serve ...workload.Step) *workload.Workload {
	w.Programs, w.Packages = append(w.Programs, "apache2"), append(w.Packages, "apache2")
	return abWorkload(w, set, p, disk, serve...)
}

// abWorkload completes a workload that requests a page from a web server, which the
// steps of serve start. The size is the number of requests.
func abWorkload(w *workload.Workload, set workload.Settings, p page, disk int64,
	serve ...workload.Step) *workload.Workload {
	clients := int64(set.Int("clients"))
	url := p.url()
	w.Programs = append(w.Programs, "ab", "curl", "grep", "sh", "sync")
	w.Packages = append(w.Packages, "apache2-utils", "curl")
	w.Metrics = []workload.Metric{
		workload.Time("all requests, and the start of ab"),
		workload.Rate("rate", "1/s", "requests", "requests per second, as ab prints it"),
		workload.Latency("latency", "time per request", "mean per request, as ab prints it"),
		workload.GuestTime("time", "the time that ab prints for the requests"),
	}
	w.MinSize = max(w.MinSize, 2*clients)
	w.DefaultSize = max(w.DefaultSize, w.MinSize)
	w.Steps = func(size int64) []workload.Step {
		ab := []string{"ab", "-q", "-c", set["clients"], "-n", decimal(size)}
		if p.varies {
			ab = append(ab, "-l")
		}
		if !p.slow {
			return []workload.Step{checked(url, p), {Name: "ab", Timed: true, Argv: append(ab, url)}}
		}
		return []workload.Step{checked(url, p), {Name: "ab", Timed: true, Argv: append(ab, "-g", abTimes, url)},
			{Name: "latencies", Argv: sh(`tail -n +2 "$1" | cut -f 5 | sort -n | uniq -c && rm "$1"`,
				"sh", abTimes)}}
	}
	if p.slow {
		w.Programs = append(w.Programs, "cut", "rm", "sort", "tail", "uniq")
		w.SingleOf, w.Latencies = "latency", func(results []workload.StepResult) (*histogram.Histogram, error) {
			return countedLatencies(results, "ab", "ab", "complete", 1e6)
		}
	}
	return p.requested(w, disk, serve, workload.Measurement{Step: "ab", Tool: "ab", Did: "complete", Accept: abServed},
		"transferred pages", "complete")
}

// requested completes a workload that requests the page from a web server, which the steps of serve start. bytes and
// pages are the figures of what its client got.
func (p page) requested(w *workload.Workload, disk int64, serve []workload.Step, by workload.Measurement,
	bytes, pages string) *workload.Workload {
	w.SizeUnit, w.MaxSize = "requests", 5_000_000
	w.DiskBytes = func(size int64) int64 { return disk + 16<<20 + 256*size } // the log of requests
	w.Serve = func(int64) []workload.Step {
		return append(serve[:len(serve):len(serve)], warmed(p.url()), removed(dbDir+"*", webDir))
	}
	w.MeasuredBy(by)
	return alsoChecking(w, func(_ int64, results map[string]workload.StepResult) error {
		right, err := pageLength(string(results["check"].Stdout))
		if err != nil {
			return workload.InStep("check", err)
		}
		r, err := tool.Read(by.Tool, results[by.Step].Output())
		if err != nil {
			return workload.InStep(by.Step, err)
		}
		got := r.Value(bytes) / r.Value(pages)
		if off := got - right; off < -16-right/50 || off > 16+right/50 && !p.grows {
			return fault.Guestf("step %s: the pages have %.0f bytes, but the right one has %.0f", by.Step, got, right)
		}
		return nil
	})
}

func (p page) url() string {
	return "http://" + workload.ServerAddress + ":" + strconv.Itoa(httpPort) + p.path
}

// warmed returns the step that makes the server start processes and compile PHP, which it does during the first
// requests.
func warmed(url string) workload.Step {
	return workload.Step{Name: "warm", Argv: []string{"sh", "-c",
		`for i in 1 2 3 4 5 6 7 8; do curl -fsS -o /dev/null "$1" || exit; done`, "sh", url}}
}

// checked returns the step that says whether the server's page is the right one, for pageLength.
func checked(url string, p page) workload.Step {
	const check = `page=$(mktemp) && curl -sS -m 60 -o "$page" -w '%{http_code} %{size_download}\n' "$1" &&` +
		` grep -cF "$2" "$page"; rm "$page"`
	return workload.Step{Name: "check", Argv: sh(check, "sh", url, p.marker)}
}

// abTimes is the file in which ab writes the times of each request: a line with names, then in the fifth column the
// time from the connection to the end of the answer, in ms.
const abTimes = "tare-ab.tsv"

var countedTime = regexp.MustCompile(`^ *(\d+) (\d+)$`)

// countedLatencies returns the single latencies that the step "latencies" counts. They must be as many as the figure of
// the tool that wrote them, whose report is the output of a step.
func countedLatencies(results []workload.StepResult, step, program, figure string,
	ns int64) (*histogram.Histogram, error) {
	r, err := reportOf(results, step, program)
	if err != nil {
		return nil, err
	}
	h, err := singlesCounted(results, ns)
	if err != nil {
		return nil, err
	}
	if all := r.Value(figure); float64(h.Count()) != all {
		return nil, tool.Contradiction("%s wrote %d single latencies, but says that it has %.0f", program, h.Count(), all)
	}
	return h, nil
}

// singlesCounted returns the single latencies that the step "latencies" counts: how many took so many units of ns.
func singlesCounted(results []workload.StepResult, ns int64) (*histogram.Histogram, error) {
	h := &histogram.Histogram{}
	for _, s := range results {
		if s.Name != "latencies" {
			continue
		}
		for line := range strings.Lines(string(s.Stdout)) {
			m := countedTime.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				return nil, fault.Guestf("step latencies: this is no number of latencies and their time: %s", tool.Quote(line))
			}
			n, errN := strconv.ParseInt(m[1], 10, 64)
			units, errUnits := strconv.ParseInt(m[2], 10, 64)
			if err := errors.Join(errN, errUnits); err != nil {
				return nil, fault.Guestf("step latencies: %w", err)
			}
			if units > histogram.Highest/ns {
				return nil, fault.Guestf("step latencies: a latency is too long: %s", tool.Quote(line))
			}
			if err := h.Add(units*ns, n); err != nil {
				return nil, fault.Guestf("step latencies: %w", err)
			}
		}
	}
	return h, nil
}

// reportOf is the report of the tool whose output is that of a step.
func reportOf(results []workload.StepResult, step, name string) (*tool.Report, error) {
	for _, s := range results {
		if s.Name == step {
			r, err := tool.Read(name, s.Output())
			if err != nil {
				return nil, workload.InStep(step, err)
			}
			return r, nil
		}
	}
	return nil, fault.Guestf("the trial has no step %s", step)
}

// abServed returns an error if ab did not get a page for every request.
func abServed(r *tool.Report) error {
	complete, err := r.One("complete")
	if err != nil {
		return err
	}
	n := complete.Value
	if other := r.Value("non-2xx"); other > 0 {
		return fault.Guestf("%.0f of %.0f requests got a redirection or an error instead of the page (status other than 2xx)",
			other, n)
	}
	if unsent := r.Value("write errors"); unsent > 0 {
		return fault.Guestf("ab could not send %.0f requests", unsent)
	}
	bytes, seconds, failed := r.Value("transferred pages"), r.Value("time"), r.Value("failed")
	if n == 0 || seconds == 0 || bytes == 0 {
		return fault.Guestf("ab received nothing: %.0f requests, %.0f bytes of pages, %v s", n, bytes, seconds)
	}
	// Without -l, ab counts a page as failed if its length differs from the first one's.
	first := r.Value("document length")
	if failed > 0 && (r.Value("failed by length") != failed || len(r.All("document length")) == 0 ||
		math.Abs(bytes/n-first) > 16+first/50) {
		return fault.Guestf("%.0f of %.0f requests failed", failed, n)
	}
	return nil
}

var pageChecked = regexp.MustCompile(`^(\d{3}) (\d+)\n(\d+)\n$`)

// pageLength reads the output of the check step: status, length, and the number of
// the page's lines with the marker.
func pageLength(text string) (float64, error) {
	m := pageChecked.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0, fault.Guestf("the page could not be checked: %s", tool.Quote(text))
	case m[1] != "200":
		return 0, fault.Guestf("the server answers with status %s, not 200", m[1])
	case m[2] == "0":
		return 0, fault.Guestf("the page is empty")
	case m[3] == "0":
		return 0, fault.Guestf("the page is not the right one: its %s bytes do not contain the expected text", m[2])
	}
	return tool.Number(m[2])
}

func abStatic() *workload.Workload {
	return workload.WithParams([]workload.Param{clientsParam}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "ab-static", Title: "Apache serves a static page to ab", ArticleIDs: []string{"L4-ab-static"},
			Source: "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		}
		return apacheAB(w, set, page{path: "/index.html", marker: "Apache2 Debian Default Page"}, 0, apache(apacheEvent))
	})
}

func abStatus() *workload.Workload {
	return workload.WithParams([]workload.Param{clientsParam}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "ab-status", Title: "Apache serves its status page, generated each time, to ab",
			ArticleIDs: []string{"L5-ab-status"},
			Source:     "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		}
		return apacheAB(w, set, page{path: "/server-status", marker: "Apache Server Status", varies: true, grows: true}, 0,
			apache(apacheEvent))
	})
}

// tcpCRR stands in for netperf's test of the same name.
func tcpCRR() *workload.Workload {
	w := &workload.Workload{
		Name: "tcp-crr", Title: "connections with a request and a response each, one after the other",
		ArticleIDs: []string{"A5-net-crr"},
		Source:     "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		StandIn: "for netperf's TCP_CRR, which is not in Debian's main (see netperf-crr): ab without -k also opens a " +
			"connection for every request, but the messages are HTTP instead of one byte, and the figures include Apache's work",
	}
	return apacheAB(w, workload.Settings{"clients": "1"}, page{path: "/robots.txt", marker: "tare"}, 0,
		apache(apacheEvent+`Alias /robots.txt /etc/hostname
<Directory /etc>
	Require all granted
</Directory>
`))
}

func wordpress() *workload.Workload {
	return workload.WithParams([]workload.Param{clientsParam}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "wordpress", Title: "WordPress serves its front page to ab", ArticleIDs: []string{"L6-ab-wordpress"},
			Source:  "WordPress (wordpress) on PHP, Apache and MariaDB, with ab (apache2-utils)",
			MinSize: 10, DefaultSize: 500,
		}
		serve := onPHP(w, wordpressSetup, wordpressPackages...)
		return apacheAB(w, set, page{path: "/wp/", marker: "Hello world!", varies: true, slow: true}, mariadbDisk, serve...)
	})
}

func mediawiki() *workload.Workload {
	return workload.WithParams([]workload.Param{clientsParam}, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "mediawiki", Title: "MediaWiki serves its main page to ab", ArticleIDs: []string{"L7-ab-mediawiki"},
			Source:  "MediaWiki (mediawiki) on PHP, Apache and MariaDB, with ab (apache2-utils)",
			MinSize: 10, DefaultSize: 500,
		}
		serve := onPHP(w, mediawikiSetup, "mediawiki")
		return apacheAB(w, set, page{path: "/mediawiki/index.php/Main_Page", marker: "MediaWiki has been installed",
			varies: true, slow: true}, mariadbDisk, serve...)
	})
}

var wordpressPackages = []string{"wordpress", "wordpress-theme-twentytwentythree"}

// onPHP completes a workload with pages that PHP makes from a database, and returns the steps of its servers.
func onPHP(w *workload.Workload, database workload.Setup, packages ...string) (serve []workload.Step) {
	w.Programs = []string{"mariadbd", "mariadb-admin", "php"}
	w.Packages = append([]string{"libapache2-mod-php", "mariadb-client", "mariadb-server", "php-cli", "php-mbstring",
		"php-mysql", "php-xml"}, packages...)
	w.Setups = []workload.Setup{database}
	return append(mariadb(database), apache(apachePHP))
}

// alsoChecking adds a check of every trial that passes all others.
func alsoChecking(w *workload.Workload, check func(size int64,
	by map[string]workload.StepResult) error) *workload.Workload {
	return alsoMeasuring(w, func(size int64, by map[string]workload.StepResult, _ map[string]float64) error {
		return check(size, by)
	})
}

// alsoMeasuring does the same, and add may add values to m, which has the others.
func alsoMeasuring(w *workload.Workload, add func(size int64, by map[string]workload.StepResult,
	m map[string]float64) error) *workload.Workload {
	evaluate := w.Evaluate
	w.Evaluate = func(size int64, results []workload.StepResult) (map[string]float64, error) {
		m, err := evaluate(size, results)
		if err != nil {
			return nil, err
		}
		by := map[string]workload.StepResult{}
		for _, r := range results {
			by[r.Name] = r
		}
		if err := add(size, by, m); err != nil {
			return nil, err
		}
		return workload.Sane(m)
	}
	return w
}
