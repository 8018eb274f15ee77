// Command tare-http requests a page at a constant rate and prints one line of JSON: the single
// latencies, from when each request was due, and what became of the requests. It is part of the
// image of workloads that need it.
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
	flag.IntVar(&p.Rate, "rate", 100, "requests a second")
	flag.IntVar(&p.Requests, "requests", 1000, "requests in all")
	flag.IntVar(&p.Connections, "connections", 8, "connections at once, at most")
	flag.BoolVar(&p.Reconnect, "reconnect", false, "open a connection for each request")
	flag.DurationVar(&p.Timeout, "timeout", 30*time.Second, "of a request")
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
	r, err := httprate.Run(ctx, p)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
