"use strict";
// Rows of runs that are being read are replaced when there is more to show.
const reading = () => document.querySelectorAll("[data-reading]");
const look = async () => {
  let wait = 1000;
  try {
    const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
    for (const old of reading()) {
      const now = page.getElementById(old.id);
      if (!now || now.isEqualNode(old)) continue;
      const box = now.querySelector("input");
      if (box) box.checked = !!old.querySelector("input:checked");
      old.replaceWith(now);
    }
    const left = reading().length;
    document.getElementById("reading").textContent = left ? left + " of these runs are still being read." : "";
  } catch {
    wait = 10000; // the server may have stopped
  }
  if (reading().length) setTimeout(look, wait);
};
if (reading().length) setTimeout(look, 1000);
