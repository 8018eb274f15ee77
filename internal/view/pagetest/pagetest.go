// Package pagetest opens pages in a headless Chromium as readers do, and asks
// axe-core what is wrong with them. It is for tests.
package pagetest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe checks pages for accessibility (axe-core, MPL-2.0: axe.LICENSE).
//
//go:embed axe.min.js
var axe string

// Browser starts a headless Chromium, or skips the test if there is none.
func Browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		if live := os.Getenv("TARE_LIVE"); live != "" && live != "0" {
			t.Fatal("Chromium is not installed (apt-get install chromium)")
		}
		t.Skip("Chromium is not installed")
	}
	dir := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute), chromedp.UserDataDir(dir),
		chromedp.Env("TMPDIR="+dir)) // what Chromium leaves behind goes with it
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	must(t, chromedp.Do(ctx, chromedp.Navigate("about:blank"))) // starts it
	ctx, cancel = context.WithTimeout(ctx, 30*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Trouble collects requests of pages for anything but Page, and their errors.
type Trouble struct {
	sync.Mutex
	Page    string // its URL
	Refused bool   // the server refuses the page, and the browser's log says so
	list    []string
}

// Listen begins to collect.
func (b *Trouble) Listen(ctx context.Context) error {
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		return err
	}
	return chromedp.Listen(ctx, func(ev any) {
		b.Lock()
		defer b.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.list = append(b.list, "exception: "+ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !b.Refused || !strings.HasPrefix(ev.Entry.Text, "Failed to load resource") {
				b.list = append(b.list, "log: "+ev.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; u != b.Page && !strings.HasPrefix(u, "about:") {
				b.list = append(b.list, fmt.Sprintf("request of %.100s", u))
			}
		}
	})
}

// Take returns what was collected since the last time.
func (b *Trouble) Take() []string {
	b.Lock()
	defer b.Unlock()
	list := b.list
	b.list = nil
	return list
}

// Value is the value of a JavaScript expression, or the result of its promise.
func Value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	must(t, err)
	return v
}

// Shot takes a screenshot of a whole page if TARE_SHOTS names a directory for them.
func Shot(t *testing.T, ctx context.Context, name string) {
	if dir := os.Getenv("TARE_SHOTS"); dir != "" {
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

// Violations asks axe what is wrong with the page that is open.
func Violations(t *testing.T, ctx context.Context) []string {
	t.Helper()
	Value[bool](t, ctx, axe+"\n;true")
	result := Value[string](t, ctx,
		`axe.run({resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
		({id: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " + n.failureSummary)}))))`)
	var found []struct {
		ID, Help string
		Nodes    []string
	}
	must(t, json.Unmarshal([]byte(result), &found))
	var out []string
	for _, v := range found {
		out = append(out, fmt.Sprintf("%s: %s\n\t%s", v.ID, v.Help, strings.Join(v.Nodes, "\n\t")))
	}
	return out
}

// View is how a page is looked at.
type View struct {
	Name   string
	Width  int64  // of the window, in pixels
	Scheme string // "light" or "dark"
}

// Views are the views that every page must support.
var Views = []View{{"light", 1200, "light"}, {"dark", 1200, "dark"}, {"phone", 390, "light"}}

// Open opens a page as that view.
func Open(t *testing.T, ctx context.Context, v View, url string) {
	t.Helper()
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(v.Width, 900)))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.Scheme}}})
	must(t, err)
	must(t, chromedp.Do(ctx, chromedp.Navigate(url)))
}

// Check opens a page as each of these views, with everything unfolded, and reports what is wrong with it.
func (b *Trouble) Check(t *testing.T, ctx context.Context, name, url string, views ...View) {
	for _, v := range views {
		t.Run(name+"/"+v.Name, func(t *testing.T) {
			b.Page = url
			Open(t, ctx, v, url)
			Shot(t, ctx, name+"-"+v.Name)
			Value[int](t, ctx, `[...document.querySelectorAll("details")].map((d) => d.open = true).length`)
			if Value[bool](t, ctx, `window.hacked !== undefined`) {
				t.Error("a script of a guest ran")
			}
			if Value[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`) {
				t.Error("the page is wider than the window")
			}
			for _, text := range append(Violations(t, ctx), b.Take()...) {
				t.Error(text)
			}
		})
	}
}

// Says checks that a page says all of this.
func Says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Plain is the text of a page, more or less as a reader sees it.
func Plain(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script).*?</(style|script)>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// Saved is the address of a file with a page.
func Saved(t *testing.T, html string) string {
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(html), 0o644))
	return "file://" + file
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
