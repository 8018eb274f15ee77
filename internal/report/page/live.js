// A run in progress: poll its state, and reload the page when there is more.
const live = document.getElementById("live");
let seen = null, failedPolls = 0;
const poll = async () => {
  try {
    const answer = await fetch(live.dataset.state, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const s = await answer.json();
    failedPolls = 0;
    live.textContent = s.text;
    if (seen === null) seen = s.version;
    // A reader with an open section, or who types, is not disturbed.
    const busy = document.querySelector("details[open]") || document.activeElement === document.getElementById("filter");
    if (s.version !== seen && !busy) location.reload();
    else if (s.version !== seen) live.textContent += " This page is out of date: close the open sections, or reload it.";
    if (s.ended) return;
  } catch (e) {
    if (++failedPolls > 2) live.textContent = "The server does not answer; this page may be out of date.";
  }
  setTimeout(poll, Math.min(5000 * (1 + failedPolls), 60000));
};
poll();
