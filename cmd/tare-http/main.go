// Command tare-http requests a page at a constant rate and prints one line of JSON: the single
// latencies, from when each request was due, and what became of the requests. With -within it looks
// for the largest rate at which 99 % of the requests are answered in time. It is part of the image
// of workloads that need it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/httprate"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tare-http:", err)
		os.Exit(1)
	}
}

func run() error {
	var p httprate.Plan
	var within, window time.Duration
	var dial bool
	flag.IntVar(&p.Rate, "rate", 100, "requests a second")
	flag.IntVar(&p.Requests, "requests", 1000, "requests in all")
	flag.IntVar(&p.Connections, "connections", 8, "connections at once, at most")
	flag.BoolVar(&p.Reconnect, "reconnect", false, "open a connection for each request")
	flag.DurationVar(&p.Timeout, "timeout", 30*time.Second, "of a request")
	flag.DurationVar(&within, "within", 0, "look for the largest rate at which 99 % of the requests are answered so soon")
	flag.DurationVar(&window, "window", 500*time.Millisecond, "how long to try each rate, with -within")
	flag.BoolVar(&dial, "dial", false, "only open a connection to the server")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: tare-http [flags] URL")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	p.URL = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dial {
		return httprate.Dial(ctx, p.URL)
	}
	var r *httprate.Result
	var err error
	if within > 0 {
		r, err = httprate.Largest(ctx,
			httprate.Search{URL: p.URL, Connections: p.Connections, Within: within, Window: window})
	} else {
		r, err = httprate.Run(ctx, p)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
