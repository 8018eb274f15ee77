package image

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// A Setup adds something to the tree that packages alone do not provide, such as a database's
// initial data.
type Setup struct {
	Name string `json:"name"`
	// Script is run by bash, with -eu and pipefail, as root in the finished tree, without a
	// network. It must end what it starts. Its content is part of the image's key: another script
	// makes another image.
	Script string `json:"script"`
}

// Needs is what workloads need of the userland beyond what every image contains.
type Needs struct {
	Packages []string // Debian packages
	Setups   []Setup  // two with the same name must be equal
	// NonFree also allows packages from Debian's contrib and non-free. Not everybody can accept
	// their licences, so the user must ask for them.
	NonFree bool
	// OwnBuilds are programs that are in no package.
	OwnBuilds []OwnBuild
	// Programs are tare's own; two with the same name must be equal.
	Programs []Program
}

// essential are Debian's essential packages, which every tree contains.
var essential = []string{
	"base-files", "base-passwd", "bash", "bsdutils", "coreutils", "dash", "debianutils", "diffutils", "dpkg",
	"findutils", "grep", "gzip", "hostname", "init-system-helpers", "libc-bin", "login", "ncurses-base",
	"ncurses-bin", "perl-base", "sed", "sysvinit-utils", "tar", "util-linux",
}

// Names of packages and setups. Package names are passed to apt on its command line.
var (
	packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	setupName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
)

// With returns the recipe of the variant of r that meets all of these needs, or r itself if it
// meets them already. The order of the needs makes no difference.
func (r Recipe) With(all ...Needs) (Recipe, error) {
	var packages []string
	setups := slices.Clone(r.Setups)
	builds := slices.Clone(r.OwnBuilds)
	programs := slices.Clone(r.Programs)
	nonFree := r.NonFree
	for _, n := range all {
		nonFree = nonFree || n.NonFree
		for _, p := range n.Packages {
			if !packageName.MatchString(p) {
				return r, fault.Campaignf("%q is not the name of a Debian package", p)
			}
			if !slices.Contains(r.Packages, p) && !slices.Contains(essential, p) {
				packages = append(packages, p)
			}
		}
		for _, b := range n.OwnBuilds {
			if !slices.ContainsFunc(builds, func(c OwnBuild) bool { return c.SHA256 == b.SHA256 }) {
				builds = append(builds, b)
			}
		}
		for _, p := range n.Programs {
			if !slices.ContainsFunc(programs, func(q Program) bool { return q.Name == p.Name }) {
				programs = append(programs, p)
			}
		}
		for _, s := range n.Setups {
			if !setupName.MatchString(s.Name) {
				return r, fault.Campaignf("%q is not a name for a setup of the image", s.Name)
			}
			i := slices.IndexFunc(setups, func(t Setup) bool { return t.Name == s.Name })
			switch {
			case i < 0:
				setups = append(setups, s)
			case setups[i].Script != s.Script:
				return r, fault.Campaignf("two setups of the image are both named %q but differ", s.Name)
			}
		}
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	if len(packages) == 0 && len(setups) == len(r.Setups) && len(builds) == len(r.OwnBuilds) &&
		len(programs) == len(r.Programs) {
		return r, nil // nothing would be taken from non-free
	}
	slices.SortFunc(setups, func(a, b Setup) int { return strings.Compare(a.Name, b.Name) })
	r.Packages = append(slices.Clone(r.Packages), packages...)
	slices.SortFunc(builds, func(a, b OwnBuild) int { return strings.Compare(a.SHA256, b.SHA256) })
	slices.SortFunc(programs, func(a, b Program) int { return strings.Compare(a.Name, b.Name) })
	r.Setups, r.OwnBuilds, r.Programs, r.NonFree = setups, builds, programs, nonFree
	if r.Name = variantName(packages, setups, builds); r.Name == "" {
		r.Name = programs[0].Name
	}
	return r, nil
}

// variantName describes in a few words what a variant has in addition.
func variantName(packages []string, setups []Setup, builds []OwnBuild) string {
	words := packages
	if len(setups) > 0 {
		words = nil
		for _, s := range setups {
			words = append(words, s.Name)
		}
	}
	if len(builds) > 0 {
		words = append([]string{"own"}, words...)
	}
	const limit = 40
	name := strings.Join(words, "+")
	if len(name) > limit {
		name = strings.TrimRight(name[:limit], "+-.")
	}
	return name
}
