package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// state are the directories in which libvirtd keeps its state; their paths are compiled in. tare's
// libvirtd sees empty ones in memory.
var state = []string{"/etc/libvirt", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt"}

var daemon = &system.Daemon{Start: libvirtd, Ready: answers}

// configuration is what differs from libvirt's defaults, by file.
var configuration = map[string]string{
	"libvirtd.conf": "unix_sock_dir = %q\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nlog_outputs = \"3:stderr\"\n",
	// The image must keep its owner, tare manages the control groups, and no second daemon is
	// needed for the console.
	"qemu.conf": "security_driver = \"none\"\nuser = \"root\"\ngroup = \"root\"\ndynamic_ownership = 0\n" +
		"remember_owner = 0\nnamespaces = []\ncgroup_controllers = []\nstdio_handler = \"file\"\n",
	"lxc.conf": "security_driver = \"none\"\n",
}

func libvirtd(dir string) (system.Command, error) {
	layout, err := cgroup.Detect()
	if err != nil {
		return system.Command{}, err
	}
	for name, text := range configuration {
		if name == "libvirtd.conf" {
			text = fmt.Sprintf(text, dir)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return system.Command{}, fault.Hostf("%w", err)
		}
	}
	return system.Command{
		// libvirt's drivers read their configuration from /etc/libvirt, which is hidden.
		Argv: []string{"/bin/sh", "-c",
			`cp "$1"/*.conf /etc/libvirt && exec libvirtd --config /etc/libvirt/libvirtd.conf --pid-file "$1/pid"`, "sh", dir},
		For: program,
		// Without /run there is no D-Bus, over which libvirtd would give systemd process IDs of
		// tare's PID namespace. The LXC driver refuses a hybrid layout of control groups.
		Hide: append(append(layout.Hybrid(), "/run"), state...),
	}, nil
}

// dialTimeout bounds a connection to libvirtd.
const dialTimeout = 15 * time.Second

// connect connects to libvirt's QEMU or LXC driver in the daemon. The caller disconnects.
func connect(dir, uri string) (*libvirt.Libvirt, error) {
	l := libvirt.NewWithDialer(dialers.NewLocal(dialers.WithSocket(filepath.Join(dir, "libvirt-sock")),
		dialers.WithLocalTimeout(dialTimeout)))
	if err := l.ConnectToURI(libvirt.ConnectURI(uri)); err != nil {
		return nil, fault.Hostf("libvirtd, %s: %w", uri, err)
	}
	return l, nil
}

// answers checks both drivers, as they start independently of each other.
func answers(_ context.Context, dir string) error {
	var errs []error
	for _, uri := range []string{"qemu:///system", "lxc:///system"} {
		l, err := connect(dir, uri)
		if err == nil {
			err = l.Disconnect()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// callTimeout bounds a call to libvirtd; the library itself has no limit.
const callTimeout = time.Minute

// bounded calls libvirtd. An error that libvirtd returns is the guest's fault; a timeout is the
// host's.
func bounded(call func() error) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), callTimeout,
		fault.Hostf("libvirtd does not answer within %v", callTimeout))
	defer cancel()
	return within(ctx, call)
}

// within is bounded for a call that may take as long as ctx allows.
func within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		if err != nil {
			err = fault.Guestf("libvirt: %w", err)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// changed changes a domain's state and checks that it has changed.
func changed(l *libvirt.Libvirt, d libvirt.Domain, change func(libvirt.Domain) error, want libvirt.DomainState) error {
	return bounded(func() error {
		if err := change(d); err != nil {
			return err
		}
		state, _, err := l.DomainGetState(d, 0)
		if err == nil && libvirt.DomainState(state) != want {
			err = fmt.Errorf("the domain's state is %d, not %d", state, want)
		}
		return err
	})
}
