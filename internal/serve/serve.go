// Package serve lets a browser read a folder of runs: a list of them, the page of
// each, even while it is running, and comparisons.
//
// It only reads, and writes nothing into the folder. It looks names of runs up in the
// folder instead of building paths from them, and ignores everything but regular
// files directly in it.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// Options say how a folder is served.
type Options struct {
	// Names are those under which readers may address the server, besides localhost
	// and its addresses.
	Names []string
	// Titles says in one line what each workload does.
	Titles map[string]string
}

// readers is how many runs are read at once.
const readers = 2

// suffix is that of run files.
const suffix = ".tare"

// Server serves one folder.
type Server struct {
	dir  *os.Root
	path string
	o    Options
	// token must be given by readers, once, as ?token=…. On the loopback address, too:
	// every user and every program of this machine can connect to it.
	token string
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
	s := &Server{dir: root, path: abs, o: o, token: rand.Text(), pages: map[string]cached{}}
	s.work = make(chan struct{}, readers)
	s.summaries.start(s.summarize)
	return s, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Token is what readers must give. It is new for each server.
func (s *Server) Token() string { return s.token }

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
		switch {
		case !s.answersAs(r.Host):
			const why = "this server does not answer under this name; use its address, or tare serve --name"
			http.Error(w, why, http.StatusMisdirectedRequest)
		case foreign(r):
			http.Error(w, "this server does not answer the scripts of other sites", http.StatusForbidden)
		case s.knows(w, r):
			next.ServeHTTP(w, r)
		}
	})
}

// answersAs reports whether a request may name the server so. A foreign page can make
// its own name resolve to this machine, but not an address or localhost.
func (s *Server) answersAs(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.TrimSuffix(host, ".")
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(s.o.Names, func(name string) bool {
		return name != "" && strings.EqualFold(name, host)
	})
}

// foreign reports whether a request comes from a page of another site, except for a
// link that somebody follows.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Host != r.Host
	}
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// cookieOf is the name of the cookie that holds the token, so that the token is not in
// the address of each page. Servers on other ports of this machine share its cookies,
// so each has a name of its own.
func cookieOf(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "tare-token-" + port
}

// knows reports whether a request has the token; one with the token in its address
// is redirected to the address without it.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	if c, err := r.Cookie(cookieOf(r)); err == nil && s.same(c.Value) {
		return true
	}
	if s.same(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{
			Name: cookieOf(r), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
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
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
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
		return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.Name, b.Name))
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
	run, err := store.Open(ctx, filepath.Join(s.path, f.Name))
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
	case fault.KindOf(err) == fault.Campaign:
		status = http.StatusUnprocessableEntity
	}
	http.Error(w, view.Visible(err.Error()), status)
}
