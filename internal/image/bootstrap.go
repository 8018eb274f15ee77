package image

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// epoch is the time of a build as tools see it (2024-01-01), so that two builds of the same
// packages differ as little as possible.
const epoch = "1704067200"

// debsHook runs when the tree is complete, with apt still configured for it. It runs the setups,
// downloads the kernel, if there is to be one, and its source without installing them, and lets the
// tree's own depmod index the modules. $1 is the tree; TARE_DEBS is the directory with the setups and for the results;
// TARE_KERNEL and TARE_SOURCE may be empty.
const debsHook = `set -eu
for setup in "$TARE_DEBS"/setup-*; do
	[ -e "$setup" ] || continue
	cp "$setup" "$1/tmp/setup"
	chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
		SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" bash -eu -o pipefail /tmp/setup </dev/null
	rm "$1/tmp/setup"
done
[ -n "$TARE_KERNEL" ] || exit 0
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
cd "$TARE_DEBS"
apt-get download "$TARE_KERNEL" $TARE_SOURCE
image=$(dpkg-deb -f "$TARE_KERNEL"_*.deb Depends | tr ', ' '\n\n' | grep -m1 '^linux-image-[0-9]')
apt-get download "$image"
mkdir "$1/tare-kernel"
dpkg-deb -x "$image"_*.deb "$1/tare-kernel"
chroot "$1" depmod -b /tare-kernel "${image#linux-image-}"
mv "$1/tare-kernel" "$TARE_DEBS/kernel"
echo "${image#linux-image-}" >"$TARE_DEBS/version"
`

// bootstrap makes the tree with mmdebstrap and leaves the kernel's packages in debs. mmdebstrap
// holds lock as long as it runs.
func bootstrap(ctx context.Context, log func(string), r Recipe, tree, debs string, lock *os.File) error {
	if err := os.Mkdir(debs, 0o755); err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	conf := filepath.Join(debs, "apt.conf")
	if err := os.WriteFile(conf, hostAptConf(ctx), 0o600); err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	hook := filepath.Join(debs, "hook")
	if err := os.WriteFile(hook, []byte(debsHook), 0o600); err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	for i, setup := range r.Setups {
		if err := os.WriteFile(filepath.Join(debs, fmt.Sprintf("setup-%03d", i)), []byte(setup.Script), 0o600); err != nil {
			return fault.Hostf("building the image: %w", err)
		}
	}
	args := []string{
		"--mode=root", "--format=directory", "--variant=minbase", "--architectures=" + r.Arch,
		"--include=" + strings.Join(r.Packages, ","),
		"--aptopt=" + conf, `--aptopt=Acquire::Languages "none"`, `--aptopt=Acquire::Retries "3"`,
		// A build that a power loss interrupts is made again, so dpkg need not flush each file.
		"--dpkgopt=force-unsafe-io", `--customize-hook=sh "$TARE_DEBS/hook" "$1"`,
	}
	for _, p := range r.Exclude {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}
	for _, p := range r.Include {
		args = append(args, "--dpkgopt=path-include="+p)
	}
	sources := hostSources("/etc/apt", r.Suite)
	if r.NonFree {
		args = append(args, "--components=main,contrib,non-free") // of Debian's own mirror
		for i := range sources {
			sources[i] += " contrib non-free"
		}
	}
	args = append(args, r.Suite, tree)
	args = append(args, sources...)
	err := run(ctx, log, command{name: "mmdebstrap", args: args, keep: []*os.File{lock}, env: []string{
		"SOURCE_DATE_EPOCH=" + epoch, "TARE_DEBS=" + debs, "TARE_KERNEL=" + r.Kernel, "TARE_SOURCE=" + r.Source,
	}})
	if err != nil {
		return err
	}
	if err := neutralize(tree); err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	for _, dir := range r.Dirs {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			return fault.Hostf("building the image: %w", err)
		}
	}
	return nil
}

// neutralize removes what came from this host from the tree, and creates the mount points and files
// that every driver expects.
func neutralize(tree string) error {
	in := func(p string) string { return filepath.Join(tree, p) }
	for _, dir := range []string{"etc/apt/sources.list.d", "var/lib/apt/lists", "var/cache/apt", "var/cache/debconf",
		"var/log"} {
		if err := os.RemoveAll(in(dir)); err != nil {
			return err
		}
	}
	for _, file := range []string{
		"etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
		"etc/resolv.conf", "etc/hostname", "etc/machine-id",
	} {
		if err := os.RemoveAll(in(file)); err != nil {
			return err
		}
	}
	if err := addMountPoints(tree, nil); err != nil {
		return err
	}
	for _, dir := range []string{"var/log", SourcePath, "root", "etc/apt/sources.list.d", "var/lib/apt/lists",
		"var/cache/apt", "var/cache/debconf"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(in(dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(in("etc/machine-id"), nil, 0o644)
}

// hostAptConf returns the host's apt settings for access to its mirrors, such as proxies, time-outs
// and the checks of dates. They are used for the build and not kept in the tree.
func hostAptConf(ctx context.Context) []byte {
	out, err := exec.CommandContext(ctx, "apt-config", "dump", "--no-empty").Output()
	if err != nil {
		return nil // no settings
	}
	var keep []string
	for _, line := range strings.Split(string(out), "\n") {
		key, _, _ := strings.Cut(strings.ToLower(line), " ")
		for _, p := range []string{"acquire::http::", "acquire::https::", "acquire::check-", "acquire::max-",
			"acquire::force", "acquire::queue-mode", "acquire::by-hash"} {
			if strings.HasPrefix(key, p) {
				keep = append(keep, line)
			}
		}
	}
	keep = append(keep, `Dir::Etc::netrc "/etc/apt/auth.conf";`, `Dir::Etc::netrcparts "/etc/apt/auth.conf.d";`)
	return []byte(strings.Join(keep, "\n") + "\n")
}

// hostSources returns the one-line apt sources of the Debian archive for suite that the host has
// itself, so that the build uses the host's mirror. If there are none, it returns none, and
// mmdebstrap uses Debian's. It omits other archives, so that the image is the same everywhere.
func hostSources(etcApt, suite string) []string {
	var found []string
	files, _ := filepath.Glob(filepath.Join(etcApt, "sources.list.d", "*"))
	for _, file := range append([]string{filepath.Join(etcApt, "sources.list")}, files...) {
		switch filepath.Ext(file) {
		case ".list":
			found = append(found, listSources(file, suite)...)
		case ".sources":
			found = append(found, deb822Sources(file, suite)...)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, " "+suite+" ") }) {
		return found
	}
	return nil
}

// keyring is the path of Debian's keys on Debian, and on other hosts if debian-archive-keyring is
// installed.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

func sourceLine(options, uri, suite string) string {
	if options == "" {
		if _, err := os.Stat(keyring); err == nil {
			options = "signed-by=" + keyring
		}
	}
	if options != "" {
		options = "[" + options + "] "
	}
	return fmt.Sprintf("deb %s%s %s main", options, uri, suite)
}

// isDebian recognizes the Debian archive and its mirrors by suite, component and the end of the
// address.
func isDebian(uri, entrySuite, suite string, components []string) bool {
	if !slices.Contains([]string{suite, suite + "-updates", suite + "-security"}, entrySuite) ||
		!slices.Contains(components, "main") {
		return false
	}
	u, err := url.Parse(uri)
	if err != nil {
		return false
	}
	// mirror+file:/etc/apt/mirrors/debian.list
	base := strings.TrimSuffix(path.Base(strings.TrimRight(u.Path, "/")), ".list")
	return base == "debian" || base == "debian-security"
}

// listSources reads the entries of a file in the one-line format.
func listSources(file, suite string) []string {
	var out []string
	for _, line := range readText(file) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		options := ""
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			options, rest, _ = strings.Cut(rest[1:], "]")
		}
		f := strings.Fields(rest)
		if len(f) >= 3 && isDebian(f[0], f[1], suite, f[2:]) {
			out = append(out, sourceLine(keepOptions(strings.Fields(options)), f[0], f[1]))
		}
	}
	return out
}

// keepOptions keeps the options that control how an archive is trusted.
func keepOptions(options []string) string {
	return strings.Join(slices.DeleteFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return name != "signed-by" && name != "trusted" && name != "check-valid-until"
	}), " ")
}

// deb822Sources reads the entries of a file in the deb822 format.
func deb822Sources(file, suite string) []string {
	var out []string
	fields := map[string]string{}
	last := ""
	flush := func() {
		var options []string
		if s := fields["signed-by"]; strings.HasPrefix(s, "/") {
			options = append(options, "signed-by="+strings.Join(strings.Fields(s), ","))
		}
		if s := fields["trusted"]; s != "" {
			options = append(options, "trusted="+s)
		}
		if slices.Contains(strings.Fields(fields["types"]), "deb") && !strings.EqualFold(fields["enabled"], "no") {
			for _, uri := range strings.Fields(fields["uris"]) {
				for _, s := range strings.Fields(fields["suites"]) {
					if isDebian(uri, s, suite, strings.Fields(fields["components"])) {
						out = append(out, sourceLine(strings.Join(options, " "), uri, s))
					}
				}
			}
		}
		clear(fields)
	}
	for _, line := range readText(file) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			fields[last] += " " + strings.TrimSpace(line)
		default:
			name, value, _ := strings.Cut(line, ":")
			last = strings.ToLower(name)
			fields[last] = strings.TrimSpace(value)
		}
	}
	flush()
	return out
}

func readText(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var lines []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	return lines
}
