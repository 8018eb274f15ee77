package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
)

// An OwnBuild is a program that is in no package and that the user has built: a directory on this
// host, or a single file. The image depends on its content, not on its path.
type OwnBuild struct {
	SHA256 string `json:"sha256"` // of names, modes and contents, in hex

	path string // on this host; "" if the image exists already
}

// maxBuild is the maximum size of a build in bytes, to reject such as a whole home directory.
const maxBuild = 2 << 30

// ReadOwnBuild reads the build at path, which must be absolute. Its errors are of the kind
// fault.Campaign.
func ReadOwnBuild(path string) (OwnBuild, error) {
	if !filepath.IsAbs(path) {
		return OwnBuild{}, fault.Campaignf("build %q: the path must be absolute", path)
	}
	b := OwnBuild{path: path}
	hash, left := sha256.New(), int64(maxBuild)
	err := b.walk(func(name, at string, st fs.FileInfo) error {
		fmt.Fprintf(hash, "%q %v\n", name, st.Mode())
		switch st.Mode().Type() {
		case fs.ModeDir:
			return nil
		case fs.ModeSymlink:
			target, err := os.Readlink(at)
			fmt.Fprintf(hash, "%q\n", target)
			return err
		}
		if left -= st.Size(); left < 0 {
			return fmt.Errorf("%s has more than %d bytes; give the directory of one program", path, int64(maxBuild))
		}
		f, err := os.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(hash, f)
		fmt.Fprintf(hash, "\n%d\n", n)
		return err
	})
	if err != nil {
		return OwnBuild{}, fault.Campaignf("build: %w", err)
	}
	b.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return b, nil
}

// GuestPath is the path of the build in guests.
func (b OwnBuild) GuestPath() string { return "/opt/tare/build/" + b.SHA256[:12] }

// walk calls visit for the build itself, as ".", and for everything below it, in a fixed order.
func (b OwnBuild) walk(visit func(name, at string, st fs.FileInfo) error) error {
	root, err := filepath.EvalSymlinks(b.path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if t := st.Mode().Type(); t != 0 && t != fs.ModeDir && t != fs.ModeSymlink {
			return fmt.Errorf("%s is not a file, directory or link", at)
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return visit(name, at, st)
	})
}

// copyInto copies the build into a tree, where root owns it.
func (b OwnBuild) copyInto(ctx context.Context, tree string) error {
	to := filepath.Join(tree, b.GuestPath())
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fault.Hostf("building the image: %w", err)
	}
	from, err := filepath.EvalSymlinks(b.path)
	if err == nil {
		err = run(ctx, func(string) {}, command{name: "cp", args: []string{"-RPT", "--preserve=mode", from, to}})
	}
	if err != nil {
		return fault.Hostf("copying the build at %s into the image: %w", b.path, err)
	}
	if copied, err := ReadOwnBuild(to); err != nil || copied.SHA256 != b.SHA256 {
		return fault.WithRemedy(fault.Hostf("the build at %s changed while it was copied into the image", b.path),
			"wait until it is finished, and try again")
	}
	return nil
}
