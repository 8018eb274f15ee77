package image

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// initramfsAge is how long an unused initramfs is kept.
const initramfsAge = 7 * 24 * time.Hour

// Initramfs is InitramfsWith the modules of [GuestModules] and extra.
func (i *Image) Initramfs(agent []byte, extra ...string) (string, error) {
	return i.InitramfsWith(agent, slices.Concat(GuestModules, extra)...)
}

// InitramfsWith returns the path of an initramfs for the image's kernel. It contains the agent, a
// static program, as /init, and in /modules the named kernel modules with their dependencies, as
// NNN-name.ko: init loads them in the order of their names. It also contains /dev with a console,
// and the empty directories /proc, /sys, /run, /tmp and /root as mount points.
//
// Files are kept with the image under a name derived from their content, so that the same agent
// gets the same file. Concurrent calls are safe.
func (i *Image) InitramfsWith(agent []byte, modules ...string) (string, error) {
	if len(agent) == 0 {
		return "", errors.New("initramfs: the agent is empty")
	}
	files, err := i.ModuleFiles(modules...)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%q\n", formatVersion, files)
	h.Write(agent)
	dir := filepath.Join(i.Dir, "initramfs")
	path := filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:8])+".cpio.gz")
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return path, nil
	}

	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if err := writeInitramfs(zw, agent, files); err != nil {
		return "", fault.Hostf("initramfs: %w", err)
	}
	if err := zw.Close(); err != nil {
		return "", fault.Hostf("initramfs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fault.Hostf("initramfs: %w", err)
	}
	if err := writeAtomic(path, buf.Bytes()); err != nil {
		return "", fault.Hostf("initramfs: %w", err)
	}
	dropOld(dir, now.Add(-initramfsAge))
	return path, nil
}

func writeInitramfs(w io.Writer, agent []byte, modules []string) error {
	c := &cpioWriter{w: w}
	for _, d := range []string{"dev", "modules", "proc", "root", "run", "sys", "tmp"} {
		c.add(cpioEntry{name: d, mode: cpioDir | 0o755})
	}
	c.add(cpioEntry{name: "dev/console", mode: cpioChar | 0o600, major: 5, minor: 1})
	c.add(cpioEntry{name: "dev/null", mode: cpioChar | 0o666, major: 1, minor: 3})
	c.add(cpioEntry{name: "init", mode: cpioFile | 0o755, data: agent})
	for n, file := range modules {
		if filepath.Ext(file) != ".ko" {
			return fmt.Errorf("%s is compressed", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		c.add(cpioEntry{name: fmt.Sprintf("modules/%03d-%s.ko", n, moduleName(file)), mode: cpioFile | 0o644, data: data})
	}
	return c.close()
}

// dropOld removes the files in dir that were last used before t.
func dropOld(dir string, t time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && st.ModTime().Before(t) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// writeAtomic writes a file so that it is either absent or complete.
func writeAtomic(path string, data []byte) error {
	return files.Replace(path, 0o644, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// File types of cpio modes.
const (
	cpioDir  = 0o040000
	cpioFile = 0o100000
	cpioChar = 0o020000
)

type cpioEntry struct {
	name         string
	mode         uint32
	data         []byte
	major, minor uint32 // of a device
}

// cpioWriter writes the "newc" format, which the kernel unpacks; see its
// Documentation/driver-api/early-userspace/buffer-format.rst. Owners are root and times are zero,
// so that equal contents make equal archives.
type cpioWriter struct {
	w   io.Writer
	ino uint32
	err error
}

func (c *cpioWriter) add(e cpioEntry) {
	if c.err != nil {
		return
	}
	c.ino++
	links := 1
	if e.mode&cpioDir != 0 && e.mode&cpioFile == 0 {
		links = 2
	}
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		c.ino, e.mode, 0, 0, links, 0, len(e.data), 0, 0, e.major, e.minor, len(e.name)+1, 0, e.name)
	for _, b := range [][]byte{[]byte(head), e.data} {
		if _, c.err = c.w.Write(b); c.err != nil {
			return
		}
		if _, c.err = c.w.Write(make([]byte, -len(b)&3)); c.err != nil {
			return
		}
	}
}

func (c *cpioWriter) close() error {
	c.add(cpioEntry{name: "TRAILER!!!"})
	return c.err
}
