package page

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/view/pagetest"
)

// TestInBrowser opens pages as readers do: light and dark, wide and on a phone.
func TestInBrowser(t *testing.T) {
	ctx := pagetest.Browser(t)
	var b pagetest.Trouble
	must(t, b.Listen(ctx))
	pages := map[string]string{}
	for name, s := range map[string]synth{
		"finished": finished(), "empty": {}, "interrupted": {blocks: 6, lacking: true},
		"hostile": {blocks: 6, lacking: true, says: evil}, "several": {blocks: 10, several: true, bulk: true,
			ended: string(plan.ReasonBlocks)},
	} {
		pages[name] = render(t, s)
	}
	pages["cases"] = renderCases(t)
	if !testing.Short() {
		pages["huge"] = hugePage(t)
	}
	for name, html := range pages {
		b.Check(t, ctx, name, pagetest.Saved(t, html), pagetest.Views...)
	}
}

// TestWithKeyboard goes through a page with the Tab key, sorts, and filters.
func TestWithKeyboard(t *testing.T) {
	ctx := pagetest.Browser(t)
	url := pagetest.Saved(t, render(t, synth{blocks: 6, lacking: true}))
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url),
		chromedp.KeyEvent(kb.Tab)))
	if first := pagetest.Value[string](t, ctx, `document.activeElement.textContent`); first != "Skip to the answer" {
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
		what := pagetest.Value[string](t, ctx, order)
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

	pagetest.Value[bool](t, ctx, `document.querySelectorAll("#w0 table.sortable th button")[1].focus(), true`)
	must(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter),
		chromedp.SendKeys(chromedp.ID("filter"), "failed kvm")))
	sorted := pagetest.Value[string](t, ctx,
		`document.querySelector("#w0 table.sortable tbody th").textContent + " " + document.querySelector("#w0 th[aria-sort]").getAttribute("aria-sort")`)
	filtered := pagetest.Value[string](t, ctx,
		`document.getElementById("shown").textContent + " / " + document.querySelectorAll("details.trial:not([hidden])").length`)
	if sorted != "qemu-tcg* descending" {
		t.Errorf("sorted by mean, falling: %s", sorted)
	}
	if !strings.HasPrefix(filtered, "0 of ") || !strings.HasSuffix(filtered, "/ 0") {
		t.Errorf("no trial of kvm failed, but the filter shows %s", filtered)
	}
}

// TestUnpack: every trial can be opened and filtered, and text from guests in packed
// trials is shown as text, too.
func TestUnpack(t *testing.T) {
	ctx := pagetest.Browser(t)
	s := finished()
	s.says = evil
	url := pagetest.Saved(t, render(t, s))
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(390, 900), chromedp.Navigate(url),
		chromedp.SendKeys(chromedp.ID("filter"), "native-control")))
	pagetest.Value[bool](t, ctx, `document.querySelector("#packed button").focus(), true`)
	must(t, chromedp.Do(ctx, chromedp.KeyEvent(kb.Enter)))
	got := pagetest.Value[string](t, ctx, `(async () => {
		while (document.getElementById("packed")) await new Promise((done) => setTimeout(done, 20));
		const trials = [...document.querySelectorAll("details.trial")];
		trials.forEach((d) => d.open = true);
		return [trials.length, document.getElementById("shown").textContent, document.activeElement.tagName,
			trials.every((d) => d.textContent.includes("<script>window.hacked")), window.hacked, document.documentElement.scrollWidth > innerWidth].join("; ");
	})()`)
	if got != "120; 24 of 120; SUMMARY; true; ; false" {
		t.Error(got)
	}
	for _, text := range pagetest.Violations(t, ctx) {
		t.Error(text)
	}
}

// TestPrints: a page can be printed, and all of its chapters are on paper.
func TestPrints(t *testing.T) {
	ctx := pagetest.Browser(t)
	url := pagetest.Saved(t, render(t, finished()))
	must(t, chromedp.Do(ctx, chromedp.Navigate(url)))
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	must(t, err)
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Fatal("no PDF")
	}
	if dir := os.Getenv("TARE_SHOTS"); dir != "" {
		must(t, os.WriteFile(filepath.Join(dir, "print.pdf"), pdf, 0o644))
	}
}
