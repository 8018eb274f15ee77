"use strict";
// Each heading of a table has a button that sorts by its column.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < 3) continue;
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    while (th.firstChild) button.append(th.firstChild);
    th.append(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      for (const c of table.tHead.rows[0].cells) c.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (r) => r.cells[i].dataset.sort ?? r.cells[i].textContent.trim();
      const sorted = [...rows].sort((a, b) => {
        const x = value(a), y = value(b), nx = parseFloat(x), ny = parseFloat(y);
        if (x === "" || y === "") return (x === "") - (y === "");
        const d = isNaN(nx) || isNaN(ny) ? x.localeCompare(y) : nx - ny;
        return down ? -d : d;
      });
      body.append(...sorted);
    });
  });
}
// Trials are filtered by the words in their headings.
const filter = document.getElementById("filter");
const sift = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean), trials = document.querySelectorAll("details.trial");
  let n = 0;
  for (const t of trials) {
    const text = t.querySelector("summary").textContent.toLowerCase();
    t.hidden = !words.every((w) => text.includes(w));
    if (!t.hidden) n++;
  }
  document.getElementById("shown").textContent = words.length ? n + " of " + trials.length : "";
};
if (filter) {
  filter.parentElement.hidden = false;
  filter.addEventListener("input", sift);
}
// Most trials are in the page compressed, one line of JSON each: a button unpacks them.
const packed = document.getElementById("packed");
const unpack = async () => {
  const bytes = Uint8Array.from(atob(packed.dataset.trials), (c) => c.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  for (const line of text.trim().split("\n")) {
    const trial = JSON.parse(line);
    const [details, summary, status, pre] = ["details", "summary", "b", "pre"].map((tag) => document.createElement(tag));
    details.className = "trial " + trial.status;
    status.textContent = trial.status;
    summary.append(trial.title + ": ", status);
    pre.textContent = trial.text;
    details.append(summary, pre);
    packed.before(details);
  }
  const trials = [...document.querySelectorAll("details.trial")].slice(-packed.dataset.count);
  packed.remove();
  sift();
  // What the filter hides would lose the focus.
  (trials.find((d) => !d.hidden)?.firstChild ?? filter).focus();
};
if (packed) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = "Show " + packed.dataset.count + " more trials";
  button.addEventListener("click", unpack);
  packed.append(button);
}
// Only elements that scroll need to be reachable with the keyboard.
const reach = () => {
  for (const e of document.querySelectorAll(".wide, pre")) {
    if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) e.tabIndex = 0;
    else e.removeAttribute("tabindex");
  }
};
reach();
addEventListener("resize", reach);
addEventListener("toggle", reach, true);
