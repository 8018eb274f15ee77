package builtin

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

const (
	gitRepo  = untarDir + "-repository"
	gitClone = untarDir + "-clone"

	// gitCloneCommand clones through file://, so that Git packs and checks the objects as it does over a network.
	// Without it, it makes links.
	gitCloneCommand = `GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null exec git clone -q -c pack.threads=1 ` +
		`"file://$PWD/` + gitRepo + `" ` + gitClone

	// gitCommits makes a repository of the unpacked tree: a commit for each of its $1 pieces, by the same author at
	// the same time, so that the commits are the same everywhere. It is packed, as those on servers are. Git would
	// choose its number of threads by the CPUs that it sees.
	gitCommits = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_LITERAL_PATHSPECS=1
export GIT_AUTHOR_NAME=tare GIT_AUTHOR_EMAIL=tare@localhost GIT_COMMITTER_NAME=tare GIT_COMMITTER_EMAIL=tare@localhost
export GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000'
git init -q --bare -b main ` + gitRepo + `
git() { command git --git-dir=` + gitRepo + ` --work-tree=` + untarDir + ` "$@"; }
git config pack.threads 1
git config gc.auto 0
for ((i = 0; i < $1; i++)); do
	printf -v name '%s/%03d.tar.gz' "$2" "$((i % $3))"
	tar tzf "$name" | sed "s|^|$((i / $3))/|" | (cd ` + untarDir + ` &&
		GIT_DIR=../` + gitRepo + ` GIT_WORK_TREE=. command git add -f --pathspec-from-file=-)
	git commit -q -m "piece $i"
done
git repack -adq
sync -f .`
	// gitVerify prints what is in the clone, after it has compared its files with those that were committed.
	gitVerify = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git -C ` + gitClone + ` fsck --no-progress >/dev/null
diff -rq --no-dereference --exclude=.git ` + untarDir + ` ` + gitClone + `
git -C ` + gitRepo + ` rev-parse main
git -C ` + gitClone + ` rev-parse HEAD
git -C ` + gitClone + ` rev-list --count HEAD
git -C ` + gitClone + ` ls-files | wc -l`
)

// gitCloning clones a repository that has the kernel source in the directory source.
func gitCloning(source string) *workload.Workload {
	w := treeWorkload()
	w.Name = "git-clone"
	w.Title = "clone a Git repository on the same disk: CPU, processes and small files"
	w.Source = "Git (git), on the source of Debian's kernel"
	w.Programs = append(w.Programs, "diff", "git", "sed")
	w.Packages = append(w.Packages, "diffutils", "git", "sed")
	w.Metrics = []workload.Metric{
		workload.Time("cloning a repository that is in the page cache, without the flush of the file system"),
		workload.HostTime("time-flushed", "cloning it and flushing the file system"),
	}
	w.SizeUnit = "commits, each of a piece of a kernel source tree (256 are all of it)"
	// The tree, its loose objects, the packs of the repository and of the clone, and the clone's files.
	w.DiskBytes = func(size int64) int64 { return 3 * (size*pieceBytes + bigPieces) }
	w.Steps = func(size int64) []workload.Step {
		return treeSteps(source, size,
			workload.Step{Name: "commit", Argv: bash(gitCommits, "git", decimal(size), source, strconv.Itoa(kernelPieces))},
			workload.Step{Name: "clone", Timed: true, Argv: bash(gitCloneCommand)},
			workload.Step{Name: "flush", Timed: true, Argv: []string{"sync", "-f", "."}},
			workload.Step{Name: "verify-clone", Argv: bash(gitVerify)})
	}
	w.Parse = noOutput(w.Name)
	return w.EvaluatedBy(func(size int64, by map[string]workload.StepResult) (map[string]float64, error) {
		files, _, err := unpacked(size, by["verify"])
		if err != nil {
			return nil, err
		}
		if err := cloned(size, files, by["verify-clone"]); err != nil {
			return nil, workload.InStep("verify-clone", err)
		}
		return untilFlushed(by, "clone"), nil
	})
}

var gitCloned = regexp.MustCompile(`^([0-9a-f]{40})\n([0-9a-f]{40})\n(\d+)\n(\d+)\n$`)

// cloned checks that the clone ends with the repository's last commit, has as many commits as the size says, and as
// many files as the tree. gitVerify has already compared the files themselves.
func cloned(size int64, files float64, verify workload.StepResult) error {
	m := gitCloned.FindStringSubmatch(string(verify.Stdout))
	if m == nil {
		return fault.Guestf("the clone's commits are missing: %s", tool.Quote(string(verify.Stdout)))
	}
	n, err := tool.Numbers(m[3:]...)
	if err != nil {
		return err
	}
	switch {
	case m[1] != m[2]:
		return fault.Guestf("the clone ends with commit %s, but the repository with %s", m[2], m[1])
	case n[0] != float64(size):
		return fault.Guestf("the clone has %.0f commits instead of %d", n[0], size)
	case n[1] != files:
		return fault.Guestf("the clone has %.0f files, but the tree has %.0f", n[1], files)
	}
	return nil
}
