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

// Pair is what hyperfine measured of one command that it was given twice.
type Pair struct {
	Workload string    `json:"workload"`
	First    []float64 `json:"first"` // seconds of each run
	Second   []float64 `json:"second"`
}

// parsePair reads hyperfine's JSON of two commands.
func parsePair(text []byte) (*Pair, error) {
	var e struct {
		Results []struct {
			Times []float64 `json:"times"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("hyperfine's export: %w", err)
	}
	if len(e.Results) != 2 || len(e.Results[0].Times) < 2 || len(e.Results[1].Times) < 2 {
		return nil, errors.New("hyperfine's export has not two commands with two runs each")
	}
	return &Pair{First: e.Results[0].Times, Second: e.Results[1].Times}, nil
}

// effect is how much longer the second command took by the means, which is what
// hyperfine prints, in percent; and whether Welch's 95 % interval of the
// difference excludes 0.
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

// inRoot makes the userland of a run what the program behind it sees in root/,
// with what tare's guests have mounted in it. It is in a mount namespace of its
// own, so nothing of it stays.
const inRoot = `set -e
mount --bind "$1" root
mount -o remount,bind,ro root
mount -t proc proc root/proc
mount --bind /dev root/dev
mount -t tmpfs tmpfs root/tmp
shift
exec "$@"`

// hyperfine has hyperfine compare a command of a run with itself, in the
// userland of that run, in about the given time. The command is given twice,
// and run as often as fits if one takes each seconds.
func (s *session) hyperfine(run *Run, workload string, budget time.Duration, each float64, pinned bool) (Record, error) {
	argv := run.Argv[workload]
	if argv == nil {
		return Record{}, fmt.Errorf("no run says what %s's command is", workload)
	}
	tree, err := s.tree(run.Userland)
	if err != nil {
		return Record{}, err
	}
	const exported = "hyperfine.json"
	command := shellWords(append([]string{"chroot", "root"}, argv...))
	words := []string{"hyperfine", "--runs", strconv.Itoa(runsIn(budget, each)), "--export-json", exported, command, command}
	if pinned {
		words = append([]string{"taskset", "-c", strconv.Itoa(s.cpu)}, words...)
	}
	cmd := exec.CommandContext(s.ctx, "sh", append([]string{"-c", inRoot, "sh", tree}, words...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	cmd.Env = []string{"HOME=/tmp", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"} // as tare's agent has it
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

// runsIn is how often each of two commands is run in the time: 2 times at least.
func runsIn(budget time.Duration, each float64) int {
	return max(2, int(math.Round(budget.Seconds()/(2*each))))
}

// tree is the directory of the userland of that key.
func (s *session) tree(key string) (string, error) {
	if len(key) < 12 {
		return "", errors.New("the run does not say which userland it had")
	}
	trees, err := filepath.Glob(filepath.Join(s.state, "images", "*-"+key[:12], "tree"))
	if err != nil || len(trees) != 1 {
		return "", fmt.Errorf("the userland %s is not in %s", key[:12], s.state)
	}
	return trees[0], nil
}
