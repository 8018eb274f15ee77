package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
)

// makeDisk writes tree as an ext4 file system to path. The file system has no journal, since it is
// only ever mounted read-only, by several guests at once.
func makeDisk(ctx context.Context, log func(string), tree, path, key string) error {
	blocks, inodes, err := treeSize(tree)
	if err != nil {
		return fault.Hostf("disk image: %w", err)
	}
	mke2fs, err := lookTool("mke2fs")
	if err != nil {
		return fault.Hostf("disk image: %w", err)
	}
	inodes += inodes/8 + 1024
	// Add an inode of 256 bytes for each file, and slack for tables.
	blocks += inodes/16 + blocks/16 + 16<<10
	uuid := fmt.Sprintf("%s-%s-4%s-8%s-%s", key[:8], key[8:12], key[13:16], key[17:20], key[20:32])
	return run(ctx, log, command{name: mke2fs, env: []string{"E2FSPROGS_FAKE_TIME=" + epoch, "SOURCE_DATE_EPOCH=" + epoch},
		args: []string{
			"-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-m", "0", "-L", "tare", "-U", uuid,
			"-O", "^has_journal", "-E", "lazy_itable_init=0,hash_seed=" + uuid,
			"-N", fmt.Sprint(inodes), "-d", tree, path, fmt.Sprint(blocks),
		}})
}

// treeSize counts the blocks of 4 KiB and the inodes that a tree needs.
func treeSize(tree string) (blocks, inodes int64, err error) {
	err = filepath.WalkDir(tree, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		inodes++
		switch {
		case d.Type().IsRegular():
			blocks += (st.Size() + 4095) / 4096
		case d.IsDir():
			blocks += max(1, (st.Size()+4095)/4096)
		}
		return nil
	})
	return blocks, inodes, err
}

// removeTree removes a directory of the cache. If something is mounted in it, it returns an error instead.
func removeTree(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	mounts, err := mountsBelow(dir)
	if err != nil {
		return fault.Hostf("removing %s: %w", dir, err)
	}
	if len(mounts) > 0 {
		return fault.WithRemedy(fault.Hostf("%s is in use: something is mounted on %s", dir, mounts[0]), "umount %s",
			mounts[0])
	}
	if err := os.RemoveAll(dir); err != nil {
		return fault.Hostf("removing an image: %w", err)
	}
	return nil
}
