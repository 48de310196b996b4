// Presentation mode: keys and swipes follow the links of the page. Each slide is fetched only when it is shown.
import { onKeys } from "./keys.js";
import { centre } from "./scroll.js";

const FAR = 60; // minimum length of a swipe in pixels

const go = (name) => () => document.getElementById(`go-${name}`)?.click();
onKeys({
  ArrowRight: go("after"),
  ArrowLeft: go("before"),
  PageDown: go("after"), // sent by presentation remotes
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

// Announces the heading and the text below it to screen readers, and keeps the current step of the rail visible.
function tell() {
  const slide = document.querySelector(".slide");
  if (!slide) return;
  const words = [slide.querySelector("h1"), slide.querySelector(".lead, .asks-large, .answer-large")];
  document.querySelector("[data-status]").textContent = words
    .filter(Boolean)
    .map((part) => part.textContent.replace(/\s+/g, " ").trim())
    .join(". ");
  document.title = `${words[0].textContent.replace(/\s+/g, " ").trim()} · KubeSched`;
  showCurrent();
}

const showCurrent = () => centre(document.querySelector(".rail [aria-current]"));

document.addEventListener("swapped", tell);
showCurrent();
