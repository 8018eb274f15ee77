package procfs

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Listener is a TCP socket that waits for connections.
type Listener struct {
	Address netip.AddrPort
	Inode   uint64 // of the socket: a file descriptor of its process links to "socket:[Inode]"
}

// Listeners returns the TCP sockets of the host that wait for connections, of both versions of IP: those of the
// network namespace of process 1.
func (f FS) Listeners() []Listener {
	var all []Listener
	for _, file := range []string{"tcp", "tcp6"} {
		text, err := f.ReadFile(f.Proc + "/1/net/" + file)
		if err == nil {
			all = append(all, ParseListeners(string(text))...)
		}
	}
	return all
}

// ParseListeners reads /proc/net/tcp or /proc/net/tcp6. It ignores lines in another format.
func ParseListeners(text string) []Listener {
	const local, state, inode = 1, 3, 9 // columns
	const listens = "0A"                // TCP_LISTEN
	var all []Listener
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) <= inode || f[state] != listens {
			continue
		}
		address, ok := parseAddress(f[local])
		n, err := strconv.ParseUint(f[inode], 10, 64)
		if ok && err == nil {
			all = append(all, Listener{Address: address, Inode: n})
		}
	}
	return all
}

// parseAddress reads "0100007F:1F90": the address in words of the machine's byte order, and the port.
func parseAddress(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(address)
	if err != nil || len(words)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(words); i += 4 {
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	ip, ok := netip.AddrFromSlice(words)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), ok && err == nil
}

// Sockets returns the inodes of the sockets that a process holds; none if they are not to be seen.
func (f FS) Sockets(pid int) []uint64 {
	var inodes []uint64
	dir := f.Proc + "/" + strconv.Itoa(pid) + "/fd"
	for _, fd := range f.Names(dir) {
		link, err := f.ReadLink(dir + "/" + fd)
		if err != nil {
			continue // it was closed
		}
		number, is := strings.CutPrefix(link, "socket:[")
		if n, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); is && err == nil {
			inodes = append(inodes, n)
		}
	}
	return inodes
}

// Arguments returns the command line of a process; none if it has ended, or is a kernel thread.
func (f FS) Arguments(pid int) []string {
	b, _ := f.ReadFile(f.Proc + "/" + strconv.Itoa(pid) + "/cmdline")
	text := strings.TrimRight(string(b), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// ControlGroups returns the control groups of a process in all hierarchies, each once; none if it has ended.
func (f FS) ControlGroups(pid int) []string {
	b, _ := f.ReadFile(f.Proc + "/" + strconv.Itoa(pid) + "/cgroup")
	return ParseControlGroups(string(b))
}

// ParseControlGroups reads /proc/PID/cgroup.
func ParseControlGroups(text string) []string {
	var paths []string
	for line := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && !slices.Contains(paths, f[2]) {
			paths = append(paths, f[2])
		}
	}
	return paths
}
