package campaign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/model"
)

// Places that a flavor's key cpus names. A socket has its number, from 0, after the word.
const (
	placeSiblings = "siblings"
	placeCores    = "cores"
	placeSocket   = "socket "
)

// checkPlaceWord accepts the values of a flavor's key cpus.
func checkPlaceWord(s string) error {
	number, socket := strings.CutPrefix(s, placeSocket)
	if s != placeSiblings && s != placeCores && !(socket && isNumber(number)) {
		return fmt.Errorf("it must be siblings, cores, or a socket's number such as socket 0")
	}
	return nil
}

// choose makes the CPUs that a flavor describes a list of those of the host. A host that is not known has no list.
func (r *checker) choose(f *model.Flavor, host Host) {
	if f.Place == "" {
		return
	}
	path := "flavors." + f.Name
	if f.CPUs != nil {
		r.Fail(path+".cpus", "cpus says where the guest's CPUs are, and cpuset which they are; remove one of them")
		return
	}
	if host.Cores == nil {
		return
	}
	cpus, err := host.place(f.Place, f.VCPUs)
	if err != nil {
		r.Fail(path+".cpus", "cpus: %s: %v", f.Place, err)
		return
	}
	f.CPUs, f.Place = cpus, ""
}

// place returns CPUs for n virtual ones: all threads of as few cores as possible, a thread of each core, or a socket.
// Of the cores, it takes the last ones, since the first ones serve interrupts.
func (h Host) place(where string, n int) (model.CPUList, error) {
	var cpus model.CPUList
	switch where {
	case placeSiblings:
		for _, core := range slices.Backward(h.Cores) {
			if len(core) > 1 && len(cpus) < n {
				cpus = append(cpus, core...)
			}
		}
		if cpus == nil {
			return nil, fmt.Errorf("each core of the host has one thread")
		}
	case placeCores:
		for _, core := range slices.Backward(h.Cores) {
			if len(cpus) < n {
				cpus = append(cpus, core[0])
			}
		}
	default:
		number, err := strconv.Atoi(strings.TrimPrefix(where, placeSocket))
		if err != nil || number >= len(h.Sockets) {
			return nil, fmt.Errorf("the host has %d sockets, and the first is socket 0", len(h.Sockets))
		}
		cpus = slices.Clone(h.Sockets[number])
	}
	if len(cpus) < n {
		return nil, fmt.Errorf("there are %d such CPUs for %d vcpus", len(cpus), n)
	}
	slices.Sort(cpus)
	return cpus, nil
}
