package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

// ProgramDirs are the directories of programs in a Debian tree, in the order in which they are looked through.
var ProgramDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// IsProgram reports whether path is an executable file in the tree. It follows symbolic links as a
// process in the tree would: an absolute link, such as those of /etc/alternatives, stays in the
// tree.
func IsProgram(tree, path string) bool {
	p := filepath.Join("/", path)
	for range 16 {
		st, err := os.Lstat(filepath.Join(tree, p))
		if err != nil {
			return false
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			return st.Mode().IsRegular() && st.Mode()&0o111 != 0
		}
		target, err := os.Readlink(filepath.Join(tree, p))
		if err != nil {
			return false
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(p), target)
		}
		p = filepath.Join("/", target)
	}
	return false
}
