// Package mounttest gives the tests of a package a mount namespace, so that what they mount is theirs alone.
//
// A mount that the whole host sees is not: each process that makes a mount namespace meanwhile, such as another
// package's test or a service that the host starts, gets a copy of it, and keeps the loop device below busy as long as
// it runs.
package mounttest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// insideVar is set in the environment of a process in such a namespace, and of those that it starts.
const insideVar = "TARE_MOUNTTEST"

// Enter executes the test program again in a mount namespace of its own, from which nothing propagates. There, it
// returns. It also returns if this process may not make a namespace: it cannot mount anything either. TestMain calls it
// before the tests.
func Enter() {
	if os.Getenv(insideVar) != "" {
		return
	}
	// A thread that executes a program takes its own namespaces along, and those of the other threads end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Unshare(unix.CLONE_NEWNS) != nil {
		return
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), insideVar+"=1"))
	}
	fmt.Fprintln(os.Stderr, "a mount namespace for the tests:", err)
	os.Exit(1)
}

// Inside reports whether this process is in such a namespace.
func Inside() bool { return os.Getenv(insideVar) != "" }

// Unseen fails if the process that started the tests sees that something is mounted at dir.
func Unseen(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", os.Getppid()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), " "+dir+" ") {
		t.Errorf("the whole host sees the mount at %s, and each process with a new mount namespace keeps it", dir)
	}
}
