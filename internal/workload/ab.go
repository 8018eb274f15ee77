package workload

import (
	"math"
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// page is a page that a web workload requests.
type page struct {
	path   string
	marker string // text that only the right page has: an error page can be fast
	varies bool   // its length varies by a few bytes
	grows  bool   // it is longer with more clients
}

var clientsParam = Param{Name: "clients", Default: "1", Min: 1, Max: 1000, About: "concurrent requests"}

// abWorkload completes a workload that requests a page from a web server, which the
// steps of serve start. The size is the number of requests.
func (w *Workload) abWorkload(set Settings, p page, disk int64, serve ...Step) *Workload {
	clients := int64(set.Int("clients"))
	url := "http://" + ServerAddress + ":" + strconv.Itoa(httpPort) + p.path
	w.Tools = append(w.Tools, "ab", "apache2", "curl", "grep", "sh", "sync")
	w.Packages = append(w.Packages, "apache2", "apache2-utils", "curl")
	w.Metrics = []Metric{
		wallMetric("all requests, and the start of ab"),
		rateMetric("rate", "1/s", "requests per second, as ab prints it"),
		latencyMetric("latency", "mean per request, as ab prints it"),
		guestTimeMetric("the time that ab prints for the requests"),
	}
	w.SizeUnit = "requests"
	w.MinSize = max(w.MinSize, 2*clients)
	w.MaxSize = 5_000_000
	w.DefaultSize = max(w.DefaultSize, w.MinSize)
	w.DiskBytes = func(size int64) int64 { return disk + 16<<20 + 256*size } // the log of requests
	// During the first requests, the server starts processes and compiles PHP.
	warm := Step{Name: "warm", Argv: []string{"sh", "-c", `for i in 1 2 3 4 5 6 7 8; do curl -fsS -o /dev/null "$1" || exit; done`, "sh", url}}
	w.Serve = func(int64) []Step {
		return append(serve[:len(serve):len(serve)], warm, removed(dbDir+"*", webDir))
	}
	w.Steps = func(size int64) []Step {
		ab := []string{"ab", "-q", "-c", set["clients"], "-n", strconv.FormatInt(size, 10)}
		if p.varies {
			ab = append(ab, "-l")
		}
		return []Step{
			{Name: "check", Argv: []string{"sh", "-c",
				`page=$(mktemp) && curl -sS -m 60 -o "$page" -w '%{http_code} %{size_download}\n' "$1" && grep -cF "$2" "$page"; rm "$page"`, "sh", url, p.marker}},
			{Name: "ab", Timed: true, Argv: append(ab, url)},
		}
	}
	return w.measuredBy("ab", func(text string) (reading, error) {
		r, err := parseAB(text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{"rate": r.rate, "latency": r.latency, "time-guest": r.seconds}, did: r.complete}, nil
	}).alsoChecking(func(_ int64, by map[string]StepResult) error {
		length, err := pageLength(string(by["check"].Stdout))
		if err != nil {
			return inStep("check", err)
		}
		r, err := parseAB(by["ab"].output())
		if err != nil {
			return inStep("ab", err)
		}
		off := r.bytes/r.complete - length
		if off < -16-length/50 || off > 16+length/50 && !p.grows {
			return fault.Guestf("step ab: the pages have %.0f bytes, but the right one has %.0f", r.bytes/r.complete, length)
		}
		return nil
	})
}

var pageChecked = regexp.MustCompile(`^(\d{3}) (\d+)\n(\d+)\n$`)

// pageLength reads the output of the check step: status, length, and the number of
// the page's lines with the marker.
func pageLength(text string) (float64, error) {
	m := pageChecked.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0, fault.Guestf("the page could not be checked: %s", quote(text))
	case m[1] != "200":
		return 0, fault.Guestf("the server answers with status %s, not 200", m[1])
	case m[2] == "0":
		return 0, fault.Guestf("the page is empty")
	case m[3] == "0":
		return 0, fault.Guestf("the page is not the right one: its %s bytes do not contain the expected text", m[2])
	}
	return number(m[2])
}

func abStatic() *Workload {
	return withParams([]Param{clientsParam}, func(set Settings) *Workload {
		w := &Workload{
			Name: "ab-static", Title: "Apache serves a static page to ab", ArticleIDs: []string{"L4-ab-static"},
			Source: "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		}
		return w.abWorkload(set, page{path: "/index.html", marker: "Apache2 Debian Default Page"}, 0, apache(apacheEvent))
	})
}

func abStatus() *Workload {
	return withParams([]Param{clientsParam}, func(set Settings) *Workload {
		w := &Workload{
			Name: "ab-status", Title: "Apache serves its status page, generated each time, to ab", ArticleIDs: []string{"L5-ab-status"},
			Source: "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		}
		return w.abWorkload(set, page{path: "/server-status", marker: "Apache Server Status", varies: true, grows: true}, 0, apache(apacheEvent))
	})
}

// tcpCRR stands in for netperf's test of the same name.
func tcpCRR() *Workload {
	w := &Workload{
		Name: "tcp-crr", Title: "connections with a request and a response each, one after the other", ArticleIDs: []string{"A5-net-crr"},
		Source: "Apache (apache2) and ab (apache2-utils)", MinSize: 300, DefaultSize: 5000,
		StandIn: "for netperf's TCP_CRR, which is not in Debian's main (see netperf-crr): ab without -k also opens a connection for every request, but the messages are HTTP instead of one byte, and the figures include Apache's work",
	}
	return w.abWorkload(Settings{"clients": "1"}, page{path: "/robots.txt", marker: "tare"}, 0, apache(apacheEvent+`Alias /robots.txt /etc/hostname
<Directory /etc>
	Require all granted
</Directory>
`))
}

func wordpress() *Workload {
	return withParams([]Param{clientsParam}, func(set Settings) *Workload {
		w := &Workload{
			Name: "wordpress", Title: "WordPress serves its front page to ab", ArticleIDs: []string{"L6-ab-wordpress"},
			Source:   "WordPress (wordpress) on PHP, Apache and MariaDB, with ab (apache2-utils)",
			Tools:    []string{"mariadbd", "mariadb-admin", "php"},
			Packages: append(phpPackages(), "wordpress", "wordpress-theme-twentytwentythree"),
			Setups:   []Setup{wordpressSetup}, MinSize: 10, DefaultSize: 500,
		}
		serve := append(mariadb(wordpressSetup), apache(apachePHP))
		return w.abWorkload(set, page{path: "/wp/", marker: "Hello world!", varies: true}, mariadbDisk, serve...)
	})
}

func mediawiki() *Workload {
	return withParams([]Param{clientsParam}, func(set Settings) *Workload {
		w := &Workload{
			Name: "mediawiki", Title: "MediaWiki serves its main page to ab", ArticleIDs: []string{"L7-ab-mediawiki"},
			Source:   "MediaWiki (mediawiki) on PHP, Apache and MariaDB, with ab (apache2-utils)",
			Tools:    []string{"mariadbd", "mariadb-admin", "php"},
			Packages: append(phpPackages(), "mediawiki"),
			Setups:   []Setup{mediawikiSetup}, MinSize: 10, DefaultSize: 500,
		}
		serve := append(mariadb(mediawikiSetup), apache(apachePHP))
		return w.abWorkload(set, page{path: "/mediawiki/index.php/Main_Page", marker: "MediaWiki has been installed", varies: true}, mariadbDisk, serve...)
	})
}

// phpPackages are the packages that PHP pages with a database need.
func phpPackages() []string {
	return []string{"libapache2-mod-php", "mariadb-client", "mariadb-server", "php-cli", "php-mbstring", "php-mysql", "php-xml"}
}

// abReport is ab's report.
type abReport struct {
	complete float64
	bytes    float64 // of pages, without headers
	seconds  float64
	rate     float64
	latency  float64 // mean per request, in seconds
}

var (
	abLine   = regexp.MustCompile(`(?m)^([A-Z][A-Za-z0-9 -]+): +(\d+(?:\.\d+)?)(?: (?:seconds|bytes|\[#/sec\] \(mean\)|\[ms\] \(mean\)))?\r?$`)
	abLength = regexp.MustCompile(`(?m)^ +\(Connect: 0, Receive: 0, Length: (\d+), Exceptions: 0\)\r?$`)
	abSays   = regexp.MustCompile(`(?m)^(?:ab: .*|apr_.*|.*\(be patient\)\.*apr_.*|Test aborted.*|The timeout specified.*)$`)
)

// parseAB reads the report of one run of ab in which every request succeeded.
func parseAB(text string) (abReport, error) {
	var r abReport
	if line := abSays.FindString(text); line != "" {
		return r, fault.Guestf("ab failed: %s", quote(line))
	}
	if err := timedFailure(text); err != nil {
		return r, err
	}
	found := map[string]float64{}
	for _, m := range abLine.FindAllStringSubmatch(grep(text, ": "), -1) {
		f, err := number(m[2])
		if err != nil {
			return r, err
		}
		if _, twice := found[m[1]]; twice {
			return r, fault.Guestf("the output contains %s twice; save each run in its own file", quote(m[1]))
		}
		found[m[1]] = f
	}
	for name, to := range map[string]*float64{
		"Complete requests": &r.complete, "HTML transferred": &r.bytes, "Time taken for tests": &r.seconds,
		"Requests per second": &r.rate, "Time per request": &r.latency,
	} {
		f, ok := found[name]
		if !ok {
			return r, fault.Guestf("ab's report has no %s", quote(name))
		}
		*to = f
	}
	r.latency /= 1e3
	return r, r.consistent(text, found)
}

func (r abReport) consistent(text string, found map[string]float64) error {
	if n := found["Non-2xx responses"]; n > 0 {
		return fault.Guestf("%.0f of %.0f requests got a redirection or an error instead of the page (status other than 2xx)", n, r.complete)
	}
	if n := found["Write errors"]; n > 0 {
		return fault.Guestf("ab could not send %.0f requests", n)
	}
	if r.complete == 0 || r.seconds == 0 || r.bytes == 0 {
		return fault.Guestf("ab received nothing: %.0f requests, %.0f bytes of pages, %v s", r.complete, r.bytes, r.seconds)
	}
	if n := found["Failed requests"]; n > 0 {
		// Without -l, ab counts a page as failed if its length differs from the first one's.
		m := abLength.FindStringSubmatch(text)
		first, known := found["Document Length"]
		if m == nil || m[1] != strconv.FormatFloat(n, 'f', -1, 64) || !known || math.Abs(r.bytes/r.complete-first) > 16+first/50 {
			return fault.Guestf("%.0f of %.0f requests failed", n, r.complete)
		}
	}
	if did := r.rate * r.seconds; math.Abs(did-r.complete) > 0.01*r.complete+1 && math.Abs(did-r.complete) > 0.0006*r.rate {
		return fault.Guestf("rate × time is not the number of requests: %v/s, %v s, %.0f requests", r.rate, r.seconds, r.complete)
	}
	if c := found["Concurrency Level"]; math.Abs(r.latency*r.rate-c) > 0.01*c+1e-6*r.rate {
		return fault.Guestf("latency × rate is not the number of clients: %v s, %v/s, %v clients", r.latency, r.rate, c)
	}
	return nil
}

// alsoChecking adds a check of every trial that passes all others.
func (w *Workload) alsoChecking(check func(size int64, by map[string]StepResult) error) *Workload {
	evaluate := w.Evaluate
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		m, err := evaluate(size, results)
		if err != nil {
			return nil, err
		}
		by := map[string]StepResult{}
		for _, r := range results {
			by[r.Name] = r
		}
		if err := check(size, by); err != nil {
			return nil, err
		}
		return m, nil
	}
	return w
}
