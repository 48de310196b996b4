// Present mode: keys and swipes follow the page's own links; each slide comes from the server, the next one not before.
import { onKeys } from "./keys.js";

const FAR = 60; // pixels of a swipe

const go = (name) => () => document.getElementById(`go-${name}`)?.click();
onKeys({
  ArrowRight: go("after"),
  ArrowLeft: go("before"),
  PageDown: go("after"), // what clickers send
  PageUp: go("before"),
  n: go("cycle-after"),
  p: go("cycle-before"),
  Home: go("first"),
  End: go("last"),
  h: go("toggle"),
  Escape: go("leave"),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen?.()),
});

let from = null;
document.addEventListener("pointerdown", (event) => {
  const held = event.pointerType === "mouse" || event.target.closest("pre, .rail, dialog, input, select");
  from = held ? null : { x: event.clientX, y: event.clientY };
});
document.addEventListener("touchend", (event) => {
  const touch = event.changedTouches[0];
  if (!from || !touch) return;
  const [dx, dy] = [touch.clientX - from.x, touch.clientY - from.y];
  from = null;
  if (Math.abs(dx) < FAR || Math.abs(dx) < 2 * Math.abs(dy)) return;
  go(dx < 0 ? "after" : "before")();
});

// Readers hear the heading and what stands below it; the step of the rail that is shown stays in view.
function tell() {
  const slide = document.querySelector(".slide");
  if (!slide) return;
  const words = [slide.querySelector("h1"), slide.querySelector(".lead, .asks-large, .answer-large")];
  document.querySelector("[data-said]").textContent = words
    .filter(Boolean)
    .map((part) => part.textContent.replace(/\s+/g, " ").trim())
    .join(". ");
  document.title = `${words[0].textContent.replace(/\s+/g, " ").trim()} · KubeSched`;
  inView();
}

function inView() {
  const current = document.querySelector(".rail [aria-current]");
  const strip = current?.closest("ol");
  if (strip) strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
}

document.addEventListener("swapped", tell);
inView();
