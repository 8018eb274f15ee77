package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/stats"
)

// Pair is hyperfine's result for one command that it ran as two.
type Pair struct {
	Workload string    `json:"workload"`
	First    []float64 `json:"first"` // seconds of each run
	Second   []float64 `json:"second"`
	// Mean user and system time of a run, in seconds. hyperfine exports no more of it than that.
	FirstCPU  float64 `json:"first_cpu,omitempty"`
	SecondCPU float64 `json:"second_cpu,omitempty"`
}

// parsePair reads hyperfine's JSON of two commands.
func parsePair(text []byte) (*Pair, error) {
	var e struct {
		Results []struct {
			Times  []float64 `json:"times"`
			User   float64   `json:"user"`
			System float64   `json:"system"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("hyperfine's export: %w", err)
	}
	if len(e.Results) != 2 || len(e.Results[0].Times) < 2 || len(e.Results[1].Times) < 2 {
		return nil, errors.New("hyperfine's export does not contain two commands with at least two runs each")
	}
	first, second := e.Results[0], e.Results[1]
	return &Pair{First: first.Times, Second: second.Times, FirstCPU: first.User + first.System,
		SecondCPU: second.User + second.System}, nil
}

// effect returns the difference of the second command's mean, which hyperfine prints, in
// percent of the first one's, and whether Welch's 95 % interval of the difference
// excludes 0.
func (p *Pair) effect() (percent float64, excludes bool, err error) {
	d, err := stats.Welch(p.Second, p.First, 0.05)
	if err != nil {
		return 0, false, err
	}
	first, err := stats.Summarize(p.First)
	if err != nil {
		return 0, false, err
	}
	return 100 * d.Estimate / first.Mean, d.Low > 0 || d.High < 0, nil
}

// cpuEffect returns the difference of the second command's user and system time, in percent of the first one's; false:
// hyperfine exported none. It has no interval.
func (p *Pair) cpuEffect() (percent float64, ok bool) {
	if p.FirstCPU <= 0 || p.SecondCPU <= 0 {
		return 0, false
	}
	return 100 * (p.SecondCPU/p.FirstCPU - 1), true
}

// inRoot runs a program with the userland of a run mounted at root/, with the same file
// systems in it as in tare's guests. The mounts are in a separate mount namespace, so
// they disappear with the program.
const inRoot = `set -e
mount --bind "$1" root
mount -o remount,bind,ro root
mount -t proc proc root/proc
mount --bind /dev root/dev
mount -t tmpfs tmpfs root/tmp
shift
exec "$@"`

// hyperfine compares a command of a run with itself, in the userland of that run, in
// about the given time. hyperfine gets the command twice and runs it as often as fits if
// one execution takes each seconds.
func (s *session) hyperfine(run *Run, workload string, budget time.Duration, each float64, pinned bool) (Record,
	error) {
	argv := run.Argv[workload]
	if argv == nil {
		return Record{}, fmt.Errorf("the run does not contain the command of %s", workload)
	}
	tree, err := s.tree(run.Userland)
	if err != nil {
		return Record{}, err
	}
	const exported = "hyperfine.json"
	command := shellWords(append([]string{"chroot", "root"}, argv...))
	words := []string{"hyperfine", "--runs", strconv.Itoa(runsIn(budget, each)), "--export-json", exported, command,
		command}
	if pinned {
		words = append([]string{"taskset", "-c", strconv.Itoa(s.cpu)}, words...)
	}
	cmd := exec.CommandContext(s.ctx, "sh", append([]string{"-c", inRoot, "sh", tree}, words...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	// as in tare's agent
	cmd.Env = []string{"HOME=/tmp", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	began := time.Now()
	if _, err := s.finish(cmd); err != nil {
		return Record{}, err
	}
	r := Record{Seconds: time.Since(began).Seconds(), Command: shellWords(words)}
	text, err := os.ReadFile(filepath.Join(s.dir, exported))
	if err != nil {
		return Record{}, err
	}
	if r.Pair, err = parsePair(text); err != nil {
		return Record{}, err
	}
	r.Pair.Workload = workload
	version, err := s.command("hyperfine", "--version")
	r.Version = strings.TrimSpace(string(version))
	return r, err
}

// runsIn returns how often each of two commands runs in the time: at least twice.
func runsIn(budget time.Duration, each float64) int {
	return max(2, int(math.Round(budget.Seconds()/(2*each))))
}

// tree returns the directory of the userland with that key.
func (s *session) tree(key string) (string, error) {
	if len(key) < 12 {
		return "", errors.New("the run does not contain the key of its userland")
	}
	trees, err := filepath.Glob(filepath.Join(s.state, "images", "*-"+key[:12], "tree"))
	if err != nil || len(trees) != 1 {
		return "", fmt.Errorf("the userland %s is not in %s", key[:12], s.state)
	}
	return trees[0], nil
}
