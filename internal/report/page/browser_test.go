package page

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	"github.com/chromedp/chromedp/kb"

	"github.com/tare-bench/tare/internal/plan"
)

// axe checks pages for accessibility (axe-core, MPL-2.0: testdata/axe.LICENSE).
//
//go:embed testdata/axe.min.js
var axe string

// browser starts a headless Chromium, or skips where there is none.
func browser(t *testing.T) context.Context {
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	must(t, chromedp.Do(ctx, chromedp.Navigate("about:blank"))) // starts it
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// trouble collects what a page asked for, and what it complained of.
type trouble struct {
	sync.Mutex
	page string
	list []string
}

func (b *trouble) listen(ctx context.Context) error {
	return chromedp.Listen(ctx, func(ev any) {
		b.Lock()
		defer b.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.list = append(b.list, "exception: "+ev.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.list = append(b.list, "log: "+ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; u != b.page && !strings.HasPrefix(u, "about:") {
				b.list = append(b.list, fmt.Sprintf("request of %.100s", u))
			}
		}
	})
}

func (b *trouble) take() []string {
	b.Lock()
	defer b.Unlock()
	list := b.list
	b.list = nil
	return list
}

// TestInBrowser opens pages as readers do: light and dark, wide and on a phone.
// TARE_SHOTS names a directory for screenshots of all of them.
func TestInBrowser(t *testing.T) {
	ctx := browser(t)
	var b trouble
	must(t, b.listen(ctx))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	must(t, err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	must(t, err)
	pages := map[string]string{}
	for name, s := range map[string]synth{
		"finished": finished(), "empty": {}, "interrupted": {blocks: 6, lacking: true},
		"hostile": {blocks: 6, lacking: true, says: evil}, "company": {blocks: 10, company: true, bulk: true, ended: string(plan.ReasonBlocks)},
	} {
		pages[name] = render(t, s, Options{})
	}
	if !testing.Short() {
		pages["huge"] = hugePage(t)
	}
	for name, html := range pages {
		file := filepath.Join(t.TempDir(), name+".html")
		must(t, os.WriteFile(file, []byte(html), 0o644))
		for _, view := range []struct {
			name   string
			width  int64
			scheme string
		}{{"light", 1200, "light"}, {"dark", 1200, "dark"}, {"phone", 390, "light"}} {
			t.Run(name+"/"+view.name, func(t *testing.T) {
				b.page = "file://" + file
				must(t, chromedp.Do(ctx, chromedp.EmulateViewport(view.width, 900)))
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}})
				must(t, err)
				must(t, chromedp.Do(ctx, chromedp.Navigate(b.page)))
				shot(t, ctx, name+"-"+view.name)
				value[int](t, ctx, `[...document.querySelectorAll("details")].map((d) => d.open = true).length`)
				hacked := value[bool](t, ctx, `window.hacked !== undefined`)
				overflows := value[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`)
				if hacked {
					t.Error("a script of a guest ran")
				}
				if overflows {
					t.Error("the page is wider than the window")
				}
				for _, text := range violations(t, ctx) {
					t.Error(text)
				}
				for _, text := range b.take() {
					t.Error(text)
				}
			})
		}
	}
}

// value is what an expression of JavaScript gives, a promise's result included.
func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	must(t, err)
	return v
}

// shot takes a screenshot of a whole page, where they are asked for.
func shot(t *testing.T, ctx context.Context, name string) {
	if dir := os.Getenv("TARE_SHOTS"); dir != "" {
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

// violations asks axe what is wrong with the page that is open.
func violations(t *testing.T, ctx context.Context) []string {
	t.Helper()
	value[bool](t, ctx, axe+"\n;true")
	result := value[string](t, ctx, `axe.run({resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
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

// TestWithKeyboard goes through a page with the Tab key, sorts, and filters.
func TestWithKeyboard(t *testing.T) {
	ctx := browser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(render(t, synth{blocks: 6, lacking: true}, Options{})), 0o644))
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://"+file), chromedp.KeyEvent(kb.Tab)))
	if first := value[string](t, ctx, `document.activeElement.textContent`); first != "Skip to the answer" {
		t.Errorf("the first stop is %q", first)
	}
	const order = `(() => { const e = document.activeElement, last = window.lastStop; window.lastStop = e;
		if (e === document.body) return "end";
		const r = e.getBoundingClientRect();
		if (r.width === 0 || r.height === 0) return "hidden: " + e.outerHTML.slice(0, 100);
		if (getComputedStyle(e).outlineStyle === "none") return "no focus to be seen: " + e.outerHTML.slice(0, 100);
		if (last && !(last.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) return "out of order: " + e.outerHTML.slice(0, 100);
		return ""; })()`
	stops := 0
	for ; stops < 300; stops++ {
		must(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)))
		what := value[string](t, ctx, order)
		if what == "end" {
			break
		}
		if what != "" {
			t.Error(what)
		}
	}
	if stops < 20 || stops == 300 {
		t.Errorf("%d stops", stops)
	}

	value[bool](t, ctx, `document.querySelectorAll("#w0 table.sortable th button")[1].focus(), true`)
	must(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter), chromedp.SendKeys(chromedp.ID("filter"), "failed kvm")))
	sorted := value[string](t, ctx, `document.querySelector("#w0 table.sortable tbody th").textContent + " " + document.querySelector("#w0 th[aria-sort]").getAttribute("aria-sort")`)
	filtered := value[string](t, ctx, `document.getElementById("shown").textContent + " / " + document.querySelectorAll("details.trial:not([hidden])").length`)
	if sorted != "qemu-tcg* descending" {
		t.Errorf("sorted by mean, falling: %s", sorted)
	}
	if !strings.HasPrefix(filtered, "0 of ") || !strings.HasSuffix(filtered, "/ 0") {
		t.Errorf("no trial of kvm failed, but the filter shows %s", filtered)
	}
}

// TestPrints: a page can be printed, and all of its chapters are on paper.
func TestPrints(t *testing.T) {
	ctx := browser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(render(t, finished(), Options{})), 0o644))
	must(t, chromedp.Do(ctx, chromedp.Navigate("file://"+file)))
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	must(t, err)
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Fatal("no PDF")
	}
	if dir := os.Getenv("TARE_SHOTS"); dir != "" {
		must(t, os.WriteFile(filepath.Join(dir, "print.pdf"), pdf, 0o644))
	}
}
