package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// burnArgument is the argument with which the program starts itself to load the machine.
const burnArgument = "load-every-cpu"

// Bursts of load and the pauses between them last from shortest to longest, with a
// log-uniform distribution, like other tenants' work. In the long run, they use half of
// each CPU's time.
const (
	shortest = 20 * time.Millisecond
	longest  = 5 * time.Second
)

// startLoad loads every CPU in random bursts until stop is called or this process ends
// for any reason. An error of stop means that the load ended early.
func startLoad() (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, burnArgument)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		alive.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the load on the machine ended early: %w", err)
		}
		return nil
	}, nil
}

// burn loads every CPU until its standard input ends.
func burn() {
	cpus := allowedCPUs()
	runtime.GOMAXPROCS(len(cpus) + 1)
	for _, cpu := range cpus {
		go func() {
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				fmt.Fprintf(os.Stderr, "precision: load on CPU %d: %v\n", cpu, err)
				os.Exit(1)
			}
			for {
				time.Sleep(span(rand.Float64()))
				for end := time.Now().Add(span(rand.Float64())); time.Now().Before(end); {
				}
			}
		}()
	}
	io.Copy(io.Discard, os.Stdin) // until the parent process ends
}

// span converts a number from 0 to 1 to the length of a burst or a pause.
func span(u float64) time.Duration {
	ratio := float64(longest) / float64(shortest)
	return time.Duration(float64(shortest) * math.Pow(ratio, u))
}

// allowedCPUs returns the CPUs on which this process may run.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return []int{0}
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// lastCPU returns the CPU on which tare places guests with one CPU.
func lastCPU() int {
	cpus := allowedCPUs()
	return cpus[len(cpus)-1]
}
