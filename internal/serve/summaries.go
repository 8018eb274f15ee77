package serve

import (
	"context"
	"sync"
	"time"
)

// summary is what the list shows of a run.
type summary struct {
	Campaign string
	Began    time.Time // zero: not known
	Host     string
	Complete bool
	State    string // how it ended, or why it did not
	Answers  []string
	Serious  int    // findings
	First    string // of these
	Problem  string // why it cannot be read or analyzed
}

// known is the summary of one version of a file.
type known struct {
	version string
	summary summary
	next    time.Time // when it may be read again
}

// outdated reports whether a file is to be read, again or for the first time.
func (k known) outdated(f file) bool {
	return k.version != f.version() && !time.Now().Before(k.next)
}

// share is how many times the reading time of a file must pass until it is read
// again. A run in progress changes all the time, and reading must not disturb
// measurements on this machine much.
const share = 20

// summaries keeps a summary of each listed file. It reads missing ones in the
// background, one file at a time, so that a run that somebody opens does not wait
// for all of them.
type summaries struct {
	read   func(context.Context, file) summary
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	share  time.Duration

	mu      sync.Mutex
	of      map[string]known
	queue   []file
	at      file // being read
	running bool
	more    chan struct{} // closed and replaced with each summary
}

func (s *summaries) start(read func(context.Context, file) summary) {
	s.read, s.share, s.of, s.more = read, share, map[string]known{}, make(chan struct{})
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// stop ends the reading, and waits until it has ended.
func (s *summaries) stop() {
	s.cancel()
	s.work.Wait()
}

// found is a file of the list with what is known about it.
type found struct {
	file
	summary
	Known   bool // else the summary is empty
	Reading bool // the summary is of an older version, or there is none yet
}

// look returns what is known about these files, which are all files of the folder,
// and starts reading the others. It waits for them, but not longer than patience.
func (s *summaries) look(ctx context.Context, files []file, patience time.Duration) []found {
	s.want(files)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		list, reading, more := s.now(files)
		if !reading {
			return list
		}
		select {
		case <-more:
		case <-timeout.C:
			return list
		case <-ctx.Done():
			return list
		}
	}
}

// want forgets all other files, and queues those whose summary is missing or outdated.
func (s *summaries) want(files []file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := make(map[string]known, len(files))
	s.queue = nil
	for _, f := range files {
		k, ok := s.of[f.Name]
		if ok {
			of[f.Name] = k
		}
		if k.outdated(f) && f != s.at {
			s.queue = append(s.queue, f)
		}
	}
	s.of = of
	if len(s.queue) > 0 && !s.running && s.ctx.Err() == nil {
		s.running = true
		s.work.Go(s.readAll)
	}
}

// now returns what is known at this moment, and whether any file is still being
// read; more is closed when there is more to know.
func (s *summaries) now(files []file) (list []found, reading bool, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		k, ok := s.of[f.Name]
		now := found{file: f, summary: k.summary, Known: ok, Reading: k.outdated(f)}
		reading = reading || now.Reading
		list = append(list, now)
	}
	return list, reading, s.more
}

// readAll reads queued files until the queue is empty.
func (s *summaries) readAll() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.ctx.Err() != nil {
			s.running, s.at = false, file{}
			s.mu.Unlock()
			return
		}
		f := s.queue[0]
		s.at, s.queue = f, s.queue[1:]
		s.mu.Unlock()

		began := time.Now()
		sum := s.read(s.ctx, f)
		now := time.Now()

		s.mu.Lock()
		// The version is that in the list: the file may be newer already, and then
		// the next look reads it again.
		s.of[f.Name] = known{f.version(), sum, now.Add(s.share * now.Sub(began))}
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
	}
}
