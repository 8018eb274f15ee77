package experiment

import (
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// processOf is how the program of a container image runs; nil: the image is of Debian's packages.
func processOf(img *image.Image) (*workload.Process, error) {
	made := img.Manifest.Recipe.Container
	if made == nil {
		return nil, nil
	}
	a, err := container.AccountOf(img.Tree, made.Config.User)
	if err != nil {
		return nil, err
	}
	as := &workload.Process{Env: slices.Clone(made.Config.Env), Dir: made.Config.Dir, UID: a.UID, GID: a.GID,
		Groups: a.Groups}
	if as.Dir == "" {
		as.Dir = "/"
	}
	sets := func(name string) bool {
		return slices.ContainsFunc(as.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	if !sets("PATH") {
		as.Env = append(as.Env, system.AgentEnv[0])
	}
	if !sets("HOME") {
		as.Env = append(as.Env, "HOME="+a.Home)
	}
	for n := range made.Config.Volumes {
		as.Dirs = append(as.Dirs, image.VolumeDir(n))
	}
	return as, nil
}

// bare is the workload start in a container image, which may have no program: the agent ends the start.
func bare(w *workload.Workload) *workload.Workload {
	b := *w
	b.Programs, b.Packages, b.Source = nil, nil, "tare; the program is tare's agent, which ends at once"
	b.Steps = func(int64) []workload.Step {
		return []workload.Step{{Name: w.Steps(1)[0].Name, Argv: []string{wire.Self, wire.PassMode}, Timed: true}}
	}
	return &b
}
