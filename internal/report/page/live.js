// A run that goes on: ask how far it is, and show the page anew when there is more.
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
    // Whoever reads an opened part, or types, is not disturbed.
    const busy = document.querySelector("details[open]") || document.activeElement === document.getElementById("filter");
    if (s.version !== seen && !busy) location.reload();
    else if (s.version !== seen) live.textContent += " This page is older: close what is open, or load it again.";
    if (s.ended) return;
  } catch (e) {
    if (++failedPolls > 2) live.textContent = "The server does not answer; what is shown here may be old.";
  }
  setTimeout(poll, Math.min(5000 * (1 + failedPolls), 60000));
};
poll();
