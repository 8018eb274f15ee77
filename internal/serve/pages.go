package serve

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/compare"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/report/page"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

//go:embed list.html
var listHTML string

//go:embed list.css
var listCSS string

var pages = template.Must(template.New("list").Parse(listHTML))

// policy is that of the pages of this package: their style, and the list's script,
// which fetches the list again from this server.
var policy = "default-src 'none'; style-src " + view.Hash(listCSS) + "; script-src " + view.Hash(listJS) +
	"; connect-src 'self'; base-uri 'none'; form-action 'self'"

// cached is the page of one version of a file.
type cached struct {
	version string
	body    []byte
}

// maxCached is how many pages are kept; each is less than 2 MB.
const maxCached = 16

// show answers with one of the pages of this package.
func (s *Server) show(w http.ResponseWriter, status int, name string, data map[string]any) {
	data["CSS"] = template.CSS(listCSS)
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	write(w, status, b.Bytes())
}

func write(w http.ResponseWriter, status int, html []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(html) // the reader may be gone
}

// run answers with the page of a run, which it renews when the file has changed.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	var body []byte
	name := r.PathValue("name")
	f, err := s.find(name)
	if err != nil {
		fail(w, err)
		return
	}
	if body = s.cached(f); body == nil {
		err = s.with(r.Context(), name, func(f file, run *store.Run) error {
			body, err = s.page(f, run)
			return err
		})
	}
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, body)
}

func (s *Server) cached(f file) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.pages[f.Name]; c.version == f.version() {
		return c.body
	}
	return nil
}

func analyzed(run *store.Run) (*analyze.Result, error) {
	in, err := dataset.Read(run)
	if err != nil {
		return nil, err
	}
	return analyze.Analyze(in)
}

func (s *Server) page(f file, run *store.Run) ([]byte, error) {
	res, err := analyzed(run)
	if err != nil {
		return nil, err
	}
	ctx, err := report.ContextOf(run)
	if err != nil {
		return nil, err
	}
	o := page.Options{Titles: s.o.Titles, Home: "/", Output: run.Output}
	if _, complete := report.EndingOf(ctx); !complete {
		o.State = "/state/" + url.PathEscape(f.Name)
	}
	var b bytes.Buffer
	if err := page.Write(&b, run, res, o); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.pages { // in any order
		if len(s.pages) < maxCached {
			break
		}
		delete(s.pages, name)
	}
	s.pages[f.Name] = cached{f.version(), b.Bytes()}
	return b.Bytes(), nil
}

// State is the progress of a run, for the page that watches it.
type State struct {
	Version string `json:"version"` // changes when there is more to see
	Ended   bool   `json:"ended"`
	Text    string `json:"text"`
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	var st State
	err := s.with(r.Context(), r.PathValue("name"), func(f file, run *store.Run) error {
		ctx, err := report.ContextOf(run)
		if err != nil {
			return err
		}
		done, err := run.Finished()
		if err != nil {
			return err
		}
		blocks := 0
		for id := range done {
			blocks = max(blocks, id.Block+1)
		}
		ending, complete := report.EndingOf(ctx)
		st = State{Version: f.version(), Ended: complete}
		st.Text = fmt.Sprintf("%d trials in %d blocks so far, the last %s ago.", len(done), blocks,
			time.Since(f.Changed).Round(time.Second))
		if complete {
			st.Text = "The run is complete: " + ending + "."
		}
		return nil
	})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(st)
	if err != nil {
		fail(w, err)
		return
	}
	w.Write(view.PlainJSON(text)) // the reader may be gone
}

// maxCompared is how many runs are compared at once.
const maxCompared = 8

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["run"]
	if len(names) < 2 || len(names) > maxCompared {
		s.show(w, http.StatusBadRequest, "refused",
			map[string]any{"Why": fmt.Sprintf("Choose 2 to %d runs to compare.", maxCompared)})
		return
	}
	if r.URL.Query().Get("order") == "newest-first" { // as the list has them
		slices.Reverse(names)
	}
	var runs []*compare.Run
	for _, name := range names {
		err := s.with(r.Context(), name, func(_ file, run *store.Run) error {
			c, err := compare.Read(run)
			runs = append(runs, c)
			return err
		})
		if err != nil {
			fail(w, err)
			return
		}
	}
	c, err := compare.Sides(compare.Alone(runs...), false)
	if err != nil {
		fail(w, err)
		return
	}
	changes, err := view.HTML(2, c.Document(false)...)
	if err != nil {
		fail(w, err)
		return
	}
	s.show(w, http.StatusOK, "compare", map[string]any{"First": c.First, "Changes": changes})
}
