package serve

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/view/pagetest"
)

// TestInBrowser opens every kind of served page as readers do, and checks it with
// axe-core and for errors in the browser.
func TestInBrowser(t *testing.T) {
	dir := t.TempDir()
	must(t, makeCostly(t, filepath.Join(dir, "a.tare")).EndSession(1, "blocks"))
	addFailure(t, makeRun(t, filepath.Join(dir, "b.tare"), 2))
	must(t, os.WriteFile(filepath.Join(dir, "damaged.tare"), []byte("no run"), 0o600))
	server := func(dir string) string {
		s := opened(t, dir, Options{})
		files, err := s.files()
		must(t, err)
		s.summaries.look(t.Context(), files, time.Hour) // until all are read
		h := httptest.NewServer(signedIn(s))
		t.Cleanup(h.Close)
		return h.URL
	}
	full, empty := server(dir), server(t.TempDir())
	ctx := pagetest.Browser(t)
	var b pagetest.Trouble
	must(t, b.Listen(ctx))
	for name, url := range map[string]string{
		"list": full + "/", "empty": empty + "/", "run": full + "/run/a.tare",
		"comparison": full + "/compare?run=a.tare&run=b.tare", "refused": full + "/compare?run=a.tare",
	} {
		b.Refused = name == "refused"
		b.Check(t, ctx, "serve-"+name, url, pagetest.Views...)
	}
}

// TestListFillsIn: the rows of an open list are filled in as runs are read, and
// selected runs stay selected.
func TestListFillsIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.tare", "b.tare"} {
		must(t, makeRun(t, filepath.Join(dir, name), 2).EndSession(1, "blocks"))
	}
	s := opened(t, dir, Options{})
	free := occupy(s)
	h := httptest.NewServer(signedIn(s))
	t.Cleanup(h.Close)
	ctx := pagetest.Browser(t)
	var b pagetest.Trouble
	b.Page = h.URL + "/"
	must(t, b.Listen(ctx))
	pagetest.Open(t, ctx, pagetest.Views[0], b.Page)
	pagetest.Shot(t, ctx, "serve-list-reading")
	if n := pagetest.Value[int](t, ctx, `document.querySelectorAll("[data-reading]").length`); n != 2 {
		t.Fatalf("%d rows are being read", n)
	}
	pagetest.Value[bool](t, ctx, `document.querySelector("input[value='b.tare']").click(), true`)
	free()
	pagetest.Value[bool](t, ctx, `new Promise((done) => {
		const look = () => document.querySelector("[data-reading]") ? setTimeout(look, 50) : done(true);
		look();
	})`)
	text := pagetest.Value[string](t, ctx, `document.querySelector("main").innerText`)
	if strings.Count(text, "lxc: ") != 2 || strings.Contains(text, "being read") {
		t.Errorf("when all are read: %s", text)
	}
	if !pagetest.Value[bool](t, ctx,
		`document.querySelector("input[value='b.tare']").checked && !document.querySelector("input[value='a.tare']").checked`) {
		t.Error("what was chosen is lost")
	}
	for _, text := range b.Take() {
		t.Error(text)
	}
}
