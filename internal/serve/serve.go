// Package serve lets a browser read a folder of runs: a list of them, the page of
// each, even while it is running, and comparisons.
//
// It only reads. It opens a run for reading, and only if there is no journal beside
// it: the journal of an active writer disappears within a moment, and that of a
// killed writer would have to be rolled back, which is writing. It looks names of
// runs up in the folder instead of building paths from them, and ignores everything
// but regular files directly in the folder.
package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// Options say how a folder is served.
type Options struct {
	// Token must be given by readers, once, as ?token=…; "": only programs on this
	// machine can read, which the caller ensures by listening on a loopback address.
	Token string
	// Titles says in one line what each workload does.
	Titles map[string]string
}

// suffix is that of run files.
const suffix = ".tare"

// Server serves one folder.
type Server struct {
	dir  *os.Root
	path string
	o    Options
	// work bounds how many runs are analyzed at once: each may take seconds.
	work chan struct{}

	mu    sync.Mutex
	pages map[string]cached

	summaries summaries
}

// New opens a folder; Close it.
func New(dir string, o Options) (*Server, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || !isDir(abs) {
			return nil, fault.WithRemedy(fault.Campaignf("%s is not a directory", dir), "give the directory with the runs")
		}
		return nil, fault.Hostf("%w", err)
	}
	s := &Server{dir: root, path: abs, o: o, work: make(chan struct{}, 2), pages: map[string]cached{}}
	s.summaries.start(s.summarize)
	return s, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Close stops reading runs for the list, and closes the folder.
func (s *Server) Close() error {
	s.summaries.stop()
	return s.dir.Close()
}

// HTTP returns a server with limits on slow and large requests.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /run/{name}", s.run)
	mux.HandleFunc("GET /state/{name}", s.state)
	mux.HandleFunc("GET /compare", s.compare)
	return s.guard(mux)
}

// guard admits only authorized readers, and tells browsers what the pages may do.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.o.Token == "" {
			// The name of a foreign page can be made to resolve to this machine;
			// its requests then carry that name.
			if !loopbackHost(r.Host) {
				http.Error(w, "this server answers only as localhost", http.StatusMisdirectedRequest)
				return
			}
		} else if !s.knows(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// cookie holds the token, so that it is not in the address of each page.
const cookie = "tare-token"

// knows reports whether a request has the token; one with the token in its address
// is redirected to the address without it.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	if c, err := r.Cookie(cookie); err == nil && s.same(c.Value) {
		return true
	}
	if s.same(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		u := *r.URL
		q := u.Query()
		q.Del("token")
		u.RawQuery, u.Scheme, u.Host = q.Encode(), "", ""
		u.Path = "/" + strings.TrimLeft(u.Path, "/") // no other host
		http.Redirect(w, r, u.String(), http.StatusSeeOther)
		return false
	}
	http.Error(w, "give the token that tare serve printed, as ?token=…", http.StatusUnauthorized)
	return false
}

func (s *Server) same(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.o.Token)) == 1
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return Loopback(strings.Trim(host, "[]"))
}

// Loopback reports whether a name or address is this machine's own.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// file is a run in the folder.
type file struct {
	Name    string
	Size    int64
	Changed time.Time
}

// version changes when the file does.
func (f file) version() string { return fmt.Sprintf("%d-%d", f.Size, f.Changed.UnixNano()) }

// maxFiles is how many runs are listed.
const maxFiles = 500

// files lists the runs, the last changed first.
func (s *Server) files() ([]file, error) {
	d, err := s.dir.Open(".")
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	var list []file
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil {
			list = append(list, file{e.Name(), st.Size(), st.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b file) int {
		if c := b.Changed.Compare(a.Changed); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list[:min(len(list), maxFiles)], nil
}

// errNoRun is the answer to a name that is not a run of this folder.
var errNoRun = errors.New("there is no such run here")

// find looks a name up in the folder.
func (s *Server) find(name string) (file, error) {
	if !strings.HasSuffix(name, suffix) || strings.ContainsAny(name, "/\\\x00") || !filepath.IsLocal(name) {
		return file{}, errNoRun
	}
	st, err := s.dir.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return file{}, errNoRun
	}
	return file{name, st.Size(), st.ModTime()}, nil
}

// errBusy is the answer while a run cannot be opened without writing to it.
var errBusy = errors.New("this run is being written to, or its writer was killed; tare show repairs it then")

// open opens a run to read it until ctx ends.
func (s *Server) open(ctx context.Context, f file) (*store.Run, error) {
	// The journal of an active transaction disappears within a moment.
	for range 20 {
		if _, err := s.dir.Lstat(f.Name + "-journal"); errors.Is(err, fs.ErrNotExist) {
			return store.OpenContext(ctx, filepath.Join(s.path, f.Name))
		}
		select {
		case <-time.After(25 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, errBusy
}

// maxReading bounds the time to read a run: a file can be crafted so that reading it
// never ends.
const maxReading = time.Minute

// with opens a run and calls do with it, for a few runs at a time.
func (s *Server) with(ctx context.Context, name string, do func(file, *store.Run) error) error {
	f, err := s.find(name)
	if err != nil {
		return err
	}
	select {
	case s.work <- struct{}{}:
		defer func() { <-s.work }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	run, err := s.open(ctx, f)
	if err != nil {
		return err
	}
	defer run.Close()
	return do(f, run)
}

// fail answers with an error. It may contain text from files, so it is sent as plain
// text, which no browser interprets.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errNoRun):
		status = http.StatusNotFound
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		status = http.StatusServiceUnavailable
	case fault.KindOf(err) == fault.Campaign:
		status = http.StatusUnprocessableEntity
	}
	http.Error(w, err.Error(), status)
}
