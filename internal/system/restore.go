package system

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
)

// Saver is implemented by guests that can be saved; see Capabilities.Save.
type Saver interface {
	// Save stops the guest, writes its state to files in dir, which is empty, and returns when they are
	// complete and nothing of the guest runs any more. The site stays as it is for Restore. The caller
	// closes the guest unless it is restored.
	Save(ctx context.Context, dir string) error
}

// Restorer is implemented by the drivers of such guests.
type Restorer interface {
	// Restore is like Create on the site of a guest that was saved in dir. The guest continues where it
	// was saved: with its memory, its programs, and its agent in the middle of the stream.
	Restore(ctx context.Context, s *Site, dir string) (Guest, error)
}

// SaveChecker is implemented by drivers that save guests with another program than the one which runs them.
type SaveChecker interface {
	// CheckSave says whether that program can be used on this host.
	CheckSave(ctx context.Context) Status
}

// saveTimeout is how long a guest may take to be saved.
const saveTimeout = 10 * time.Minute

// needsCRIU is why most containers of the host's kernel are not saved.
const needsCRIU = "CRIU would have to save its processes; tare uses CRIU only with runc"

// Saved describes the state of a guest that was saved.
type Saved struct {
	Time    time.Duration // from the request until nothing of the guest ran any more
	Flushed time.Duration // until the state was also on the disk
	Bytes   int64         // size of its files
	Files   []string      // their paths on the host, until the guest is restored or closed
}

// SaveRefusal is why guests of a system cannot be saved and restored; nil: they can.
func SaveRefusal(d Driver) error {
	caps := d.Capabilities()
	switch {
	case caps.Save != "":
		return nil
	case caps.NoSave != "":
		return fault.Campaignf("%s cannot be saved and restored: %s", d.Name(), caps.NoSave)
	}
	return fault.Campaignf("saving and restoring guests is not implemented for %s", d.Name())
}

// Save saves the guest and ends its processes. Until Restore, only Close may be called. After an error of the
// guest or the host the machine is closed.
func (m *Machine) Save(ctx context.Context) (s Saved, err error) {
	if err := SaveRefusal(m.Driver); err != nil {
		return s, err
	}
	if err := os.Mkdir(m.savedIn, 0o700); err != nil {
		return s, fault.Hostf("a directory for the saved guest: %w", err)
	}
	m.Agent.Detach()
	within, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	begin := time.Now()
	if err := m.Guest.(Saver).Save(within, m.savedIn); err != nil {
		if within.Err() != nil {
			err = fault.Guestf("it was not saved within %v", saveTimeout)
		}
		return s, m.giveUp(ctx, "saving", err)
	}
	s.Time = time.Since(begin)
	if s.Files, s.Bytes, err = flushAll(m.savedIn); err != nil {
		return s, m.giveUp(ctx, "saving", err)
	}
	s.Flushed = time.Since(begin)
	if s.Bytes == 0 {
		return s, m.giveUp(ctx, "saving", fault.Guestf("it left no state"))
	}
	return s, nil
}

// flushAll writes the files below dir to the disk, and returns them and the sum of their sizes.
func flushAll(dir string) (files []string, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		files, bytes = append(files, path), bytes+st.Size()
		return f.Sync()
	})
	if err != nil {
		return nil, 0, fault.Hostf("what the guest saved: %w", err)
	}
	return files, bytes, nil
}

// Restore restores a saved guest and waits for its agent. Requested and Answered are those of the
// restoration from then on. A guest that was started anew is refused, as its agent began at another time.
// After an error the machine is closed.
func (m *Machine) Restore(ctx context.Context) error {
	return m.giveUp(ctx, "restoring", m.restore(ctx))
}

func (m *Machine) restore(ctx context.Context) error {
	m.Requested = agent.Monotonic()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	g, err := m.Driver.(Restorer).Restore(ctx, m.Site, m.savedIn)
	if err != nil {
		return err
	}
	m.Guest, m.Restored = g, true
	m.Agent.Attach(g.Conn())
	now, err := m.answer(ctx, m.Agent.Hello)
	if err != nil {
		return err
	}
	m.Answered = agent.Monotonic()
	if err := os.RemoveAll(m.savedIn); err != nil {
		return fault.Hostf("removing the saved guest: %w", err)
	}
	if now.Began != m.Hello.Began {
		return fault.Guestf("it was not restored but started anew: "+
			"its agent began at %v by its own clock, the saved one at %v",
			time.Duration(now.Began), time.Duration(m.Hello.Began))
	}
	// A new VMM or domain, and new subgroups, have no caps.
	if c, ok := g.(Capper); ok && m.capped > 0 {
		if err := c.Cap(ctx, m.capped); err != nil {
			return err
		}
	}
	return m.capIO(ctx)
}

// answer calls ask, which asks the agent; it returns early if the guest ends first.
func (m *Machine) answer(ctx context.Context, ask func(context.Context) (agent.Hello, error)) (agent.Hello, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	exited := m.Guest.Exited() // Restore replaces the guest
	go func() {
		select {
		case <-exited:
			cancel(fault.Guestf("it ended before its agent answered"))
		case <-ctx.Done():
		}
	}()
	h, err := ask(ctx)
	if err != nil && ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
			return h, cause
		}
		return h, fault.Guestf("its agent did not answer within %v", startTimeout)
	}
	return h, err
}
