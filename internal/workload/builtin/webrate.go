package builtin

import (
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

func rateParam(preset string) workload.Param {
	return workload.Param{Name: "rate", Default: preset, Min: 1, Max: 100_000,
		About: "requests that are due in a second, whether or not the server keeps up"}
}

func connectionsParam(preset string) workload.Param {
	return workload.Param{Name: "connections", Default: preset, Min: 1, Max: 150,
		About: "connections at once, at most; a request for which none is free waits, and its time runs"}
}

// connectParam is whether requests share connections.
var connectParam = workload.Param{Name: "connect", Default: "reuse", Values: []string{"reuse", "each"},
	About: "each: a connection of its own for each request, opened in its time; reuse: connections are kept"}

// atRate completes a workload that requests a page at a constant rate from a web server, which the steps of serve
// start. The size is the number of requests.
func atRate(w *workload.Workload, set workload.Settings, p page, disk int64,
	serve ...workload.Step) *workload.Workload {
	url := p.url()
	w.Programs = append(w.Programs, workload.TareHTTP, "apache2", "curl", "grep", "sh", "sync")
	w.Brings = []string{workload.TareHTTP}
	w.Packages = append(w.Packages, "apache2", "curl")
	w.Metrics = []workload.Metric{
		workload.Latency("latency", "mean latency", "mean per request, from when it was due"),
		workload.Time("all requests, which is mostly given by their rate, and the start of tare-http"),
	}
	w.MinSize = 20
	w.DefaultSize = max(w.MinSize, 5*int64(set.Int("rate")))
	each := set["connect"] == "each"
	w.Steps = func(size int64) []workload.Step {
		argv := []string{workload.TareHTTP, "-rate", set["rate"], "-connections", set["connections"], "-requests",
			decimal(size)}
		if each {
			argv = append(argv, "-reconnect")
		}
		return []workload.Step{checked(url, p), {Name: "requests", Timed: true, Argv: append(argv, url)}}
	}
	w.AtRate = workload.HTTPRates("requests")
	return p.requested(w, disk, serve, workload.Measurement{Step: "requests", Tool: workload.TareHTTP, Did: "requests",
		Accept: workload.AllAnswered, SingleOf: "latency", Singles: tool.Singles{Word: "latencies"},
		Check: func(_ int64, r *tool.Report) error {
			if opened, requests := r.Value("opened"), r.Value("requests"); each && opened != requests {
				return fault.Guestf("tare-http opened %.0f connections for %.0f requests instead of one for each", opened, requests)
			}
			return nil
		}}, "transferred", "answered")
}

func httpRate() *workload.Workload {
	params := []workload.Param{rateParam("200"), connectionsParam("32"), connectParam}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "http-rate", Title: "Apache serves a static page at a constant rate of requests",
			Source: "Apache (apache2); requests by tare-http, a program of tare's on vegeta",
		}
		return atRate(w, set, page{path: "/index.html", marker: "Apache2 Debian Default Page"}, 0, apache(apacheEvent))
	})
}

func wordpressRate() *workload.Workload {
	// A process of PHP for each connection must fit into the guest.
	params := []workload.Param{rateParam("5"), connectionsParam("8")}
	return workload.WithParams(params, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "wordpress-rate", Title: "WordPress serves its front page at a constant rate of requests",
			Source: "WordPress (wordpress) on PHP, Apache and MariaDB; requests by tare-http, a program of tare's on vegeta",
		}
		serve := onPHP(w, wordpressSetup, wordpressPackages...)
		return atRate(w, set, page{path: "/wp/", marker: "Hello world!", varies: true}, mariadbDisk, serve...)
	})
}
