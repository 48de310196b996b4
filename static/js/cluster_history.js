// The history of a live cluster: the slider, and the map at its position.
import { withParams } from "./address.js";
import { morph } from "./morph.js";
import { fetchPage } from "./requests.js";

const box = document.getElementById("history");
const positions = JSON.parse(document.getElementById("positions")?.textContent ?? "[]"); // [resourceVersion, Unix seconds]
const part = (name) => document.querySelector(`[data-${name}]`);
const pad = (number) => String(number).padStart(2, "0");
let timer = 0;
let latest = 0;

function timeText(seconds) {
  const at = new Date(seconds * 1000);
  const date = [at.getFullYear(), pad(at.getMonth() + 1), pad(at.getDate())].join("-");
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(pad).join(":")}`;
}

// Shows another position: the map at once, the list of changes and the gap with the page.
async function go(version) {
  latest = version;
  const address = withParams({ at: version });
  history.replaceState(history.state, "", address);
  for (const place of [part("at"), part("position")]) if (place) place.value = version;
  const source = withParams({ at: version }, document.getElementById("live-map").dataset.src);
  document.dispatchEvent(new CustomEvent("position", { detail: { address: source.href } }));
  const fresh = await fetchPage(address.href);
  if (latest !== version) return;
  for (const name of ["when", "text", "gap"])
    part(name).textContent = fresh.querySelector(`[data-${name}]`).textContent;
  morph(document.getElementById("changes"), fresh.getElementById("changes"));
}

if (box) {
  part("slider").addEventListener("input", ({ target }) => {
    const [version, at] = positions[Number(target.value)];
    part("when").textContent = timeText(at);
    clearTimeout(timer);
    timer = setTimeout(() => go(version), 120);
  });
  part("version-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const version = Number(part("position").value);
    const place = positions.findLastIndex(([one]) => one <= version);
    part("slider").value = Math.max(0, place);
    go(version);
  });
}
