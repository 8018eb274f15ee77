package tools

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
)

// hostDirs are directories of the host that programs of the tree see at the same paths.
var hostDirs = []string{"/dev", "/proc", "/sys", "/run", "/tmp", "/lib/modules", Dir}

// Use makes Find return programs of the tree at root, which is a directory of Debian files. What programs write to the
// tree goes to scratch, an empty directory on a file system in memory; the tree stays as it is. dirs are further
// directories of the host that programs see at the same paths. The caller is inside a sandbox, whose mounts are private
// and end with it.
func Use(root, scratch string, dirs ...string) error {
	upper, work := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work")
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fault.Hostf("the tools tree: %w", err)
		}
	}
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`)
	options := "lowerdir=" + escape.Replace(root) + ",upperdir=" + escape.Replace(upper) +
		",workdir=" + escape.Replace(work)
	if err := unix.Mount("tools", root, "overlay", 0, options); err != nil {
		return fault.WithRemedy(fault.Hostf("the tools tree: mounting it: %w", err),
			"a kernel with overlayfs (modprobe overlay); without the tree: TARE_PROGRAMS=host")
	}
	// The host's directories are mounted only in the namespaces of the tree's programs. Programs of the host, such as
	// libvirtd, would take a second mount of a control group hierarchy for the first.
	tree.Store(&sandbox.Tree{Root: root, Dirs: append(dirs, hostDirs...)})
	return nil
}
