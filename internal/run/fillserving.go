package run

import (
	"bytes"
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/workload"
)

const (
	// askAbreast is how many clients of a fill are asked at once.
	askAbreast = 16
	// maxSaid is more than the length of any line that a client has reason to print.
	maxSaid = 32 << 10
)

// says passes on what a client says of its requests, line by line. A line that nobody has asked for is dropped.
type says struct {
	lines chan []byte
	part  []byte // of a line that is not whole
}

// heard takes the client's output as it arrives.
func (s *says) heard(stderr bool, data []byte) {
	if stderr {
		return
	}
	for {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		if len(s.part) <= maxSaid {
			s.part = append(s.part, part...)
		}
		if !whole {
			return
		}
		select {
		case s.lines <- s.part:
		default:
		}
		s.part, data = nil, rest
	}
}

// clients are the guests whose requests are measured.
func (f *filling) clients() (all []*filler) {
	for _, m := range f.fillers {
		if m.says != nil {
			all = append(all, m)
		}
	}
	return all
}

// serve measures requests to the guests that serve, in as many windows as the 99th percentile takes. Without such
// guests it measures nothing.
func (f *filling) serve(ctx context.Context, all *workload.Served, seen *workload.Filled) error {
	clients := f.clients()
	for len(clients) > 0 && all.Requests() < workload.LeastServed {
		abreast(clients, askAbreast, func(m *filler) { m.err = m.ask(ctx) })
		limited, cancel := context.WithTimeout(ctx, f.Serving.Window+f.Serving.Patience+f.Serving.Grace)
		for _, m := range clients {
			if m.err == nil {
				m.err = f.hear(limited, m, all)
			}
		}
		cancel()
		for _, m := range clients {
			if err := f.miss(ctx, m, m.err, seen); err != nil {
				return err
			}
		}
		if seen.Lost > 0 {
			return nil
		}
	}
	return nil
}

// client is the service that sends requests.
func (m *filler) client() *service { return m.x.services[len(m.x.services)-1] }

// ask tells a guest's client to begin a window.
func (m *filler) ask(ctx context.Context) error {
	select {
	case <-m.says.lines:
	default:
	}
	sv := m.client()
	var err error
	select {
	case id := <-sv.id:
		sv.id <- id
		err = sv.agent.Signal(ctx, id, unix.SIGUSR1)
	case <-sv.ended:
	}
	if ended := m.ended(); ended != nil {
		return ended
	}
	return err
}

// hear adds what a guest's client says of its window. If it says nothing until ctx is done, none of its requests was
// answered in time.
func (f *filling) hear(ctx context.Context, m *filler, all *workload.Served) error {
	select {
	case line := <-m.says.lines:
		return all.Add(line, f.Serving.Requests)
	case <-m.client().ended:
		return m.ended()
	case <-m.guest.machine.Guest.Exited():
		return m.ended()
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ctx.Err()
		}
		return all.Miss(f.Serving.Requests, f.Serving.Patience+f.Serving.Grace)
	}
}
