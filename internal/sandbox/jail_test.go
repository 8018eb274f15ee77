package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/sandbox"
	"golang.org/x/sys/unix"
)

// jailed runs a shell in a jail that may read one file, write another and use one device, and checks what it is
// able to do.
func jailed(mark string) error {
	dir := filepath.Join(sandbox.Dir(), mark)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"read", "write", "hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, "device")); err != nil {
		return err
	}
	const user = 0x70000007
	script := `exec 2>&1; cd "$1"
echo "$(id -u) $(id -g) $(id -G)"; ls; cat read; echo more >>write
for f in read hidden device /usr/bin/x /dev/x /x; do echo x >>$f && echo "wrote $f"; done
mkdir /tmp/m; mount -t tmpfs none /tmp/m; mknod /tmp/n c 1 3; mount -o remount,rw /usr; chroot /
head -c 1 device | wc -c; ls /dev; ls /proc | grep -c '^[0-9]'; ls /sys/class/net /home /root /var
grep -E 'NoNewPrivs|CapEff|CapPrm' /proc/self/status; grep -c : /proc/net/dev`
	cmd := sandbox.Enter{
		Path: "/bin/sh", Argv: []string{"sh", "-c", script, "sh", dir},
		Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"},
		Jail: &sandbox.Jail{
			User: user, Read: []string{dir + "/read", "/usr/bin/env", dir + "/device"},
			Write: []string{dir + "/write"}, Devices: []string{"/dev/full"},
		},
	}.Command(context.Background())
	b, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, b)
	}
	out := string(b)
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	id := strconv.Itoa(user)
	want(strings.HasPrefix(out, id+" "+id+" "+id+"\ndevice\nread\nwrite\nread"), "it is not who and where it should be")
	want(!strings.Contains(out, "wrote "), "it wrote what it may only read")
	want(strings.Contains(out, "NoNewPrivs:\t1"), "it may get privileges")
	want(strings.Contains(out, "CapEff:\t0000000000000000"), "it has privileges")
	want(strings.Contains(out, "\n1\nfull\nnull\nurandom\nzero\n"), "its devices are others")
	for _, no := range []string{"/sys/class/net", "/home", "/root", "/var"} {
		want(strings.Contains(out, no+"'") && !strings.Contains(out, "\n"+no+":"), "it sees %s", no)
	}
	for _, refused := range []string{"mount: ", "mknod: ", "chroot: "} {
		want(strings.Contains(out, refused), "%swas not refused", refused)
	}
	written, err := os.ReadFile(filepath.Join(dir, "write"))
	want(err == nil && string(written) == "writemore\n", "it wrote %q, %v", written, err)
	want(strings.HasSuffix(out, "\n1\n"), "it has more interfaces than loopback")
	if len(errs) > 0 {
		return fmt.Errorf("%w\n%s", errors.Join(errs...), out)
	}
	for _, path := range []string{filepath.Join(sandbox.Dir(), "jail", "usr"), "/dev/x"} {
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s is left outside the jail", path)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat("/dev/full", &st); err != nil || st.Uid != 0 {
		return fmt.Errorf("the host's own device belongs to %d, %v", st.Uid, err)
	}
	return nil
}

func TestJail(t *testing.T) {
	cmd, out := start(t, "jail", "jailed")
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
