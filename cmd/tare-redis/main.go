// Command tare-redis sends requests to a Redis server at a constant rate until it is stopped. When it gets SIGUSR1, it
// prints one line of JSON about its next requests: their latencies, from when each was due. It is part of the image of
// workloads that need it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/redisrate"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tare-redis:", err)
		os.Exit(1)
	}
}

func run() error {
	var p redisrate.Plan
	flag.IntVar(&p.Rate, "rate", 100, "requests a second")
	flag.IntVar(&p.Requests, "requests", 300, "requests of which a line tells")
	flag.DurationVar(&p.Patience, "patience", time.Second, "how long to wait for answers after the last of them was due")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: tare-redis [flags] SOCKET")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	// Before the first request: SIGUSR1 may follow the first answer at once.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := net.Dial("unix", flag.Arg(0))
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	return p.Run(ctx, server, asked, func(r redisrate.Report) error { return out.Encode(r) })
}
