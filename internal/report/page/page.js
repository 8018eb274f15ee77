"use strict";
// Tables sort by a button in each heading; the first heading brings back the order of the plan.
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
// Trials are filtered by what their headings say.
const filter = document.getElementById("filter");
if (filter) {
  filter.parentElement.hidden = false;
  const trials = [...document.querySelectorAll("details.trial")], shown = document.getElementById("shown");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const t of trials) {
      const text = t.querySelector("summary").textContent.toLowerCase();
      t.hidden = !words.every((w) => text.includes(w));
      if (!t.hidden) n++;
    }
    shown.textContent = words.length ? n + " of " + trials.length : "";
  });
}
// Only what scrolls needs to be reached with the keyboard.
const reach = () => {
  for (const e of document.querySelectorAll(".wide, pre")) {
    if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) e.tabIndex = 0;
    else e.removeAttribute("tabindex");
  }
};
reach();
addEventListener("resize", reach);
addEventListener("toggle", reach, true);
