package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/store/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeRun writes a run of n blocks; it stays open, as if tare were measuring.
func makeRun(t testing.TB, path string, n int) *store.Run {
	t.Helper()
	return makeRunOf(t, path, n, `{"version": 1}`, func(block, arm int) float64 { return 1 + float64(block*arm)/100 })
}

// makeRunOf is makeRun with a given machine and given values.
func makeRunOf(t testing.TB, path string, n int, environment string, value func(block, arm int) float64) *store.Run {
	t.Helper()
	c, err := campaign.Parse("c.yaml", []byte("name: served\nseed: 1\narms: [native, lxc]\nworkloads: [sysbench-cpu]\n"+
		"blocks: 3\n"),
		campaign.Known{Systems: map[string]campaign.Limits{"native": {Usable: true}, "lxc": {Usable: true}}})
	must(t, err)
	r, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved(),
		store.DocEnvironment: []byte(environment), store.DocUserland: []byte(`{}`)},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}, {Name: "lxc", System: "lxc", Scenario: "solo"},
			{Name: "native-control", System: "native", Scenario: "solo", ControlOf: "native"}},
		[]store.Metric{{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	must(t, err)
	t.Cleanup(func() { r.Close() })
	session, err := r.BeginSession("boot", "1")
	must(t, err)
	for b := range n {
		addBlock(t, r, session, b, value)
	}
	return r
}

func addBlock(t testing.TB, r *store.Run, session int64, b int, value func(block, arm int) float64) {
	t.Helper()
	for arm := range 3 {
		id, err := r.Begin(store.Attempt{Session: session, Block: b, Position: arm, Workload: "sysbench-cpu", Arm: arm,
			Size: 1})
		must(t, err)
		must(t, r.Finish(id, store.Outcome{Status: store.Done, Values: map[int]float64{0: value(b, arm)},
			Steps: []store.Step{{Name: "run", Argv: []string{"true"}, Result: &agent.Result{Stdout: []byte("said this")}}}}))
	}
}

func addFailure(t testing.TB, r *store.Run) {
	t.Helper()
	id, err := r.Begin(store.Attempt{Session: 1, Block: 2, Workload: "sysbench-cpu", Arm: 1, Size: 1})
	must(t, err)
	must(t, r.Finish(id, store.Outcome{Status: store.Failed, Error: "the guest <crashed>"}))
}

// signedIn makes each request one of a reader who gave the token.
func signedIn(s *Server) http.Handler {
	h := s.HTTP().Handler
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: cookieOf(r), Value: s.Token()})
		h.ServeHTTP(w, r)
	})
}

// served is a folder with two runs, and a function that makes requests to its server.
func served(t *testing.T, o Options) (dir string,
	get func(target string, change ...func(*http.Request)) *httptest.ResponseRecorder) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "runs")
	must(t, os.Mkdir(dir, 0o700))
	must(t, makeRun(t, filepath.Join(dir, "a.tare"), 3).EndSession(1, "blocks"))
	makeRun(t, filepath.Join(dir, "b.tare"), 2)
	return dir, reader(opened(t, dir, o))
}

// opened is a server of a folder until the test ends.
func opened(t *testing.T, dir string, o Options) *Server {
	t.Helper()
	s, err := New(dir, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// reader makes requests of a reader who gave the token.
func reader(s *Server) func(target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	h := signedIn(s)
	return func(target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		path, query, _ := strings.Cut(target, "?")
		r.URL.Path, r.URL.RawQuery = path, query // as it is, not made clean by the client
		for _, f := range change {
			f(r)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

// settled is the list when all runs in it have been read, however long that takes.
func settled(t *testing.T, get func(string, ...func(*http.Request)) *httptest.ResponseRecorder) string {
	t.Helper()
	for {
		w := get("/")
		if w.Code != http.StatusOK {
			t.Fatalf("the list: %d %s", w.Code, w.Body)
		}
		if body := w.Body.String(); !strings.Contains(body, "data-reading>") {
			return body
		}
	}
}

func TestPages(t *testing.T) {
	_, get := served(t, Options{})
	settled(t, get)
	for target, wants := range map[string][]string{
		"/":                              {`href="/run/a.tare"`, "served", "it was killed or is still running", "complete"},
		"/run/a.tare":                    {"What it costs", "said this", `<a href="/">tare</a>`},
		"/run/b.tare":                    {`data-state="/state/b.tare"`, "connect-src"},
		"/compare?run=a.tare&run=b.tare": {"Against a.tare", ">lxc</td>", "This holds for these runs"},
		"/compare?order=newest-first&run=a.tare&run=b.tare": {"Against b.tare"},
	} {
		w := get(target)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s does not have %q", target, want)
			}
		}
		for _, header := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
			if w.Header().Get(header) == "" {
				t.Errorf("%s has no %s", target, header)
			}
		}
	}
	if w := get("/run/a.tare"); strings.Contains(w.Body.String(), "data-state") {
		t.Error("a complete run is watched")
	}
}

// TestWatch: an addition to a run shows in its state and its page.
func TestWatch(t *testing.T) {
	dir, get := served(t, Options{})
	state := func() (s State) {
		must(t, json.Unmarshal(get("/state/b.tare").Body.Bytes(), &s))
		return s
	}
	before := state()
	if before.Ended || !strings.HasPrefix(before.Text, "6 trials in 2 blocks") {
		t.Errorf("%+v", before)
	}
	if s := state(); s.Version != before.Version {
		t.Error("another version of the same")
	}
	old := get("/run/b.tare").Body.String()
	r, err := store.Continue(t.Context(), filepath.Join(dir, "b.tare"))
	must(t, err)
	defer r.Close()
	addBlock(t, r, 1, 2, func(int, int) float64 { return 1 })
	if s := state(); s.Version == before.Version || !strings.HasPrefix(s.Text, "9 trials in 3 blocks") {
		t.Errorf("after another block: %+v", s)
	}
	if get("/run/b.tare").Body.String() == old {
		t.Error("the page is an old one")
	}
	must(t, r.EndSession(1, "blocks"))
	if s := state(); !s.Ended {
		t.Errorf("after its end: %+v", s)
	}
}

// TestNothingElse: no name leads to anything but a run of this folder.
func TestNothingElse(t *testing.T) {
	dir, get := served(t, Options{})
	outside := filepath.Join(filepath.Dir(dir), "outside.tare")
	makeRun(t, outside, 1)
	must(t, os.Symlink(outside, filepath.Join(dir, "link.tare")))
	must(t, os.Symlink(filepath.Dir(dir), filepath.Join(dir, "up")))
	must(t, os.Mkdir(filepath.Join(dir, "folder.tare"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("secret"), 0o600))
	for _, name := range []string{
		"../outside.tare", "..%2foutside.tare", "up/outside.tare", "link.tare", "folder.tare", "secret.txt", "none.tare",
		"..", ".", "",
		outside, "a.tare/", "a.tare\x00", "./a.tare", `..\outside.tare`, "//etc/passwd", "a.tare/../../outside.tare",
	} {
		for _, target := range []string{"/run/" + name, "/state/" + name, "/compare?run=a.tare&run=" + name} {
			if w := get(target); w.Code == http.StatusOK {
				t.Errorf("%q is answered", target)
			}
		}
	}
	if w := get("/"); strings.Contains(w.Body.String(), "link.tare") || strings.Contains(w.Body.String(), "secret") {
		t.Error("the list has what is no run")
	}
}

// TestOnlyReads: no method writes, and no file in the folder changes.
func TestOnlyReads(t *testing.T) {
	dir, get := served(t, Options{})
	contents := func() string {
		var b strings.Builder
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			body, err := os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
			fmt.Fprintf(&b, "%s %d %x\n", e.Name(), len(body), body)
		}
		return b.String()
	}
	before := contents()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, target := range []string{"/", "/run/a.tare", "/compare"} {
			if w := get(target, func(r *http.Request) { r.Method = method }); w.Code < 400 {
				t.Errorf("%s %s: %d", method, target, w.Code)
			}
		}
	}
	for _, target := range []string{"/", "/run/a.tare", "/run/b.tare", "/state/b.tare", "/compare?run=a.tare&run=b.tare"} {
		get(target)
	}
	if contents() != before {
		t.Error("a file changed")
	}
}

func TestDamagedAndHostileFiles(t *testing.T) {
	dir, get := served(t, Options{})
	must(t, os.WriteFile(filepath.Join(dir, `<img src=x onerror=alert(1)>".tare`), []byte("no run"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty.tare"), nil, 0o600))
	whole, err := os.ReadFile(filepath.Join(dir, "a.tare"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "damaged.tare"),
		append(bytes.Clone(whole[:4096]), bytes.Repeat([]byte{0xff}, len(whole)-4096)...), 0o600))
	list := settled(t, get)
	if strings.Contains(list, "<img") || !strings.Contains(list, "its run never began") ||
		!strings.Contains(list, "damaged") {
		t.Error(list)
	}
	if row(list, "a.tare") == "" || strings.Contains(row(list, "a.tare"), "problem") {
		t.Errorf("a whole run beside damaged ones: %s", row(list, "a.tare"))
	}
	for _, name := range []string{"empty.tare", "damaged.tare"} {
		if w := get("/run/" + name); w.Code != http.StatusUnprocessableEntity ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestToken(t *testing.T) {
	dir, _ := served(t, Options{})
	s := opened(t, dir, Options{})
	get := func(target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://localhost:8273/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	token := s.Token()
	if len(token) < 20 {
		t.Fatalf("token %q", token)
	}
	for _, target := range []string{
		"/", "/run/a.tare", "/state/a.tare", "/?token=", "/?token=" + token[1:], "/?token=" + token + "1", "/nothing",
	} {
		if w := get(target); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "a.tare") {
			t.Errorf("%s without the token: %d", target, w.Code)
		}
	}
	if w := get("/", &http.Cookie{Name: "tare-token-8273", Value: "wrong"}); w.Code != http.StatusUnauthorized {
		t.Errorf("a wrong cookie: %d", w.Code)
	}
	// The cookie of another server on this machine.
	if w := get("/", &http.Cookie{Name: "tare-token-8274", Value: token}); w.Code != http.StatusUnauthorized {
		t.Errorf("the cookie of another port: %d", w.Code)
	}
	w := get("//evil.example/run/a.tare?token=" + token + "&x=1")
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "/evil.example/run/a.tare?x=1" {
		t.Errorf("%d, sent to %q", w.Code, to)
	}
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies %v", c)
	}
	if w := get("/run/a.tare", c...); w.Code != http.StatusOK {
		t.Errorf("with the cookie: %d", w.Code)
	}
}

// TestNames: a page that makes its own name resolve to this server gets nothing.
func TestNames(t *testing.T) {
	_, get := served(t, Options{Names: []string{"bench.example", ""}})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:8273": true, "127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1": true,
		"LOCALHOST.":         true,
		"bench.example:8273": true, "evil.example": false, "localhost.evil.example": false, "": false,
		"127.0.0.1.evil.example": false,
		"evil.bench.example":     false,
	} {
		if w := get("/", func(r *http.Request) { r.Host = host }); (w.Code == http.StatusOK) != ok {
			t.Errorf("as %q: %d", host, w.Code)
		}
	}
	for _, from := range []struct {
		header, value, mode string
		ok                  bool
	}{
		{"Origin", "http://localhost", "cors", true},
		{"Origin", "http://localhost:8080", "cors", false},
		{"Origin", "http://evil.example", "cors", false},
		{"Origin", "null", "cors", false},
		{"Sec-Fetch-Site", "same-origin", "cors", true},
		{"Sec-Fetch-Site", "cross-site", "no-cors", false},
		{"Sec-Fetch-Site", "cross-site", "navigate", true}, // a link in a mail
	} {
		w := get("/state/a.tare", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Mode", from.mode)
			r.Header.Set(from.header, from.value)
		})
		if (w.Code == http.StatusOK) != from.ok {
			t.Errorf("%+v: %d", from, w.Code)
		}
	}
}

// TestAbandoned: a request that its reader abandons ends its query, even of a file
// that would be read for ever; others are served meanwhile and afterwards.
func TestAbandoned(t *testing.T) {
	dir, _ := served(t, Options{})
	whole, err := os.ReadFile(filepath.Join(dir, "a.tare"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "evil.tare"), storetest.EndlessSchema(t, whole), 0o600))
	s := opened(t, dir, Options{})
	get := func(ctx context.Context, target string) int {
		return reader(s)(target, func(r *http.Request) { *r = *r.WithContext(ctx) }).Code
	}
	for range 2 * readers {
		ctx, abandon := context.WithCancel(t.Context())
		ended := make(chan int)
		go func() { ended <- get(ctx, "/run/evil.tare") }()
		for len(s.work) == 0 { // until it is read
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // into the query, most times
		abandon()
		if status := <-ended; status == http.StatusOK {
			t.Error("an endless file is shown")
		}
	}
	if status := get(t.Context(), "/run/a.tare"); status != http.StatusOK {
		t.Errorf("another run: %d", status)
	}
}

// TestTimeouts: the server does not wait for silent clients.
func TestTimeouts(t *testing.T) {
	s := opened(t, t.TempDir(), Options{})
	h := s.HTTP()
	for name, d := range map[string]time.Duration{"header": h.ReadHeaderTimeout, "read": h.ReadTimeout,
		"write": h.WriteTimeout, "idle": h.IdleTimeout} {
		if d <= 0 || d > 5*time.Minute {
			t.Errorf("%s: %v", name, d)
		}
	}
	if w := reader(s)("/"); !strings.Contains(w.Body.String(), "There is no run in this folder") {
		t.Errorf("an empty folder: %s", w.Body)
	}
	if _, err := New(filepath.Join(t.TempDir(), "none"), Options{}); err == nil {
		t.Error("a folder that is not there is served")
	}
}
