package serve

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/report/page/pagetest"
)

// TestInBrowser opens every kind of page that is served, as readers do, and
// asks axe-core and the browser what is wrong with it.
func TestInBrowser(t *testing.T) {
	dir := t.TempDir()
	must(t, makeRun(t, filepath.Join(dir, "a.tare"), 3).EndSession(1, "blocks"))
	must(t, makeRun(t, filepath.Join(dir, "b.tare"), 2).EndSession(1, "blocks"))
	server := func(dir string) string {
		s, err := New(dir, Options{})
		must(t, err)
		t.Cleanup(func() { s.Close() })
		h := httptest.NewServer(s.Handler())
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
		for _, view := range pagetest.Views {
			t.Run(name+"/"+view.Name, func(t *testing.T) {
				b.Page = url
				pagetest.Open(t, ctx, view, url)
				pagetest.Shot(t, ctx, "serve-"+name+"-"+view.Name)
				if pagetest.Value[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`) {
					t.Error("the page is wider than the window")
				}
				for _, text := range pagetest.Violations(t, ctx) {
					t.Error(text)
				}
				for _, text := range b.Take() {
					if name == "refused" && strings.HasPrefix(text, "log: Failed to load resource") {
						continue // it is one
					}
					t.Error(text)
				}
			})
		}
	}
}
