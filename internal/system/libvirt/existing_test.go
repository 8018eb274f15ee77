package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/porttest"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

// sshdDomain is a container that runs a real sshd over the host's own root, except for /run: sshd requires a directory
// there, which other tests must not see or remove. The driver treats it as a domain of a user's.
const sshdDomain = `<domain type='lxc'>
  <name>%s</name><memory unit='MiB'>512</memory><vcpu>1</vcpu>
  <os><type>exe</type><init>/bin/sh</init><initarg>-c</initarg>
    <initarg>mount -t tmpfs none /run &amp;&amp; mkdir /run/sshd &amp;&amp; exec /usr/sbin/sshd -D -f %s</initarg></os>
  <devices><filesystem type='mount'><source dir='/'/><target dir='/'/></filesystem><console type='pty'/></devices>
</domain>`

// somebodys starts a libvirtd with that domain, and returns a function which adds the arm's target
// and options for it to a request.
func somebodys(t *testing.T) func(system.Request) system.Request {
	t.Helper()
	if st := LXC().Check(t.Context(), systemtest.Host(t)); !st.Usable {
		t.Skip(st.Reason)
	}
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("openssh-server is not installed")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			in(key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	port := porttest.Free(t)
	public, err := os.ReadFile(in("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.Mkdir(in("space"), 0o755),
		os.WriteFile(in("known"), []byte("[127.0.0.1]:"+port+" "+string(public)), 0o600),
		os.WriteFile(in("config"), fmt.Appendf(nil, "ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\n"+
			"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n",
			port, in("host"), in("user.pub")), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	use, err := daemon.Acquire(t.Context(), systemtest.Host(t).RunID+"-somebodys")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { use.Release() })
	at := use.Dir()
	c, err := connect(at, "lxc:///system")
	if err != nil {
		t.Fatal(err)
	}
	name := "somebodys-" + port
	domain, err := c.DomainCreateXML(fmt.Sprintf(sshdDomain, name, in("config")), libvirt.DomainNone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.DomainDestroy(domain)
		c.Disconnect()
		removeMachine()
	})
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return func(f system.Request) system.Request {
		f.Target = "lxc+unix:///system?socket=" + filepath.Join(at, "libvirt-sock") + "#" + name
		f.Options = map[string]string{"login": "ssh://root@127.0.0.1:" + port, "key": in("user"), "known_hosts": in("known"),
			"dir": in("space")}
		return f
	}
}

// removeMachine removes the default control group of libvirt's domains, unless somebody else has a
// domain there.
func removeMachine() {
	dirs, _ := filepath.Glob("/sys/fs/cgroup/*/machine")
	for _, dir := range append(dirs, "/sys/fs/cgroup/machine") {
		os.Remove(dir)
	}
}

// intoDomain is the driver whose guests are all in that domain, which is a container.
type intoDomain struct {
	Existing
	request func(system.Request) system.Request
}

func (d intoDomain) Capabilities() system.Capabilities {
	caps := d.Existing.Capabilities()
	caps.StopsClock = false
	return caps
}

func (d intoDomain) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	s.Request = d.request(s.Request)
	return d.Existing.Create(ctx, s)
}

func TestExisting(t *testing.T) {
	request := somebodys(t)
	systemtest.RunBriefly(t, intoDomain{request: request})
	t.Run("refused", func(t *testing.T) {
		for name, change := range map[string]struct {
			f    func(*system.Request)
			kind fault.Kind
			want string
		}{
			"no such domain": {func(f *system.Request) { f.Target += "x" }, fault.Guest, "No domain with matching name"},
			"no login":       {func(f *system.Request) { delete(f.Options, "login") }, fault.Campaign, "options: {login:"},
			"no libvirtd": {func(f *system.Request) { f.Target = "qemu+unix:///system?socket=/no/such#x" }, fault.Guest,
				"/no/such"},
		} {
			f := request(systemtest.Request())
			change.f(&f)
			m, err := system.Launch(t.Context(), Existing{}, systemtest.Host(t), "refused", f)
			if err == nil {
				m.Close()
				t.Fatalf("%s: a guest", name)
			}
			if fault.KindOf(err) != change.kind || !strings.Contains(err.Error(), change.want) {
				t.Errorf("%s: %v (%v)", name, err, fault.KindOf(err))
			}
		}
	})
}

func TestTarget(t *testing.T) {
	for text, want := range map[string]string{
		"qemu:///system#web":                       "qemu:///system web",
		"xen+tcp://host:1/#a b":                    "xen+tcp://host:1/ a b",
		"esx://root@vc/dc/host?no_verify=1#db":     "esx://root@vc/dc/host?no_verify=1 db",
		"lxc+unix:///system?socket=/run/x#machine": "lxc+unix:///system?socket=/run/x machine",
		"qemu:///system":                           "",
		"web":                                      "",
		"#web":                                     "",
		"qemu://a:secret@h/system#web":             "",
		"%":                                        "",
	} {
		uri, name, err := parseTarget(text)
		if want == "" {
			if err == nil || fault.KindOf(err) != fault.Campaign || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, %q, %v", text, uri, name, err)
			}
			continue
		}
		if err != nil || uri.String()+" "+name != want {
			t.Errorf("%s: %v %q, %v", text, uri, name, err)
		}
	}
}

const described = "<domain><devices><disk device='disk'><target dev='vda'/></disk><disk device='cdrom'><target " +
	"dev='sda'/></disk></devices></domain>"

func TestDisks(t *testing.T) {
	if names, err := disks(described); err != nil || !slices.Equal(names, []string{"vda"}) {
		t.Errorf("%q, %v", names, err)
	}
}

func FuzzDescription(f *testing.F) {
	f.Add("qemu:///system#x", described)
	f.Fuzz(func(t *testing.T, target, text string) {
		if _, name, err := parseTarget(target); err == nil && name == "" {
			t.Error("a target without a domain")
		}
		names, err := disks(text)
		for _, name := range names {
			if err != nil || name == "" {
				t.Errorf("%q, %v", names, err)
			}
		}
	})
}
