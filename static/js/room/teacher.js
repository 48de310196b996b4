// The teacher's page of a room: moves the class, shows the answers as they come.
import { link, say, show } from "./link.js";

const room = document.getElementById("room");
const controls = document.getElementById("controls");
const last = Number(room.dataset.of);
let version = Number(room.dataset.version);
let step = Number(room.dataset.step);

function move(state) {
  version = state.version;
  step = state.step;
  show(room, state.parts);
  room.querySelector("[data-asked]").hidden = !state.asks;
  for (const button of controls.querySelectorAll("[data-to]")) {
    const to = step + Number(button.dataset.to);
    button.value = to;
    button.disabled = to < 1 || to > last;
  }
  const reveal = controls.querySelector("[data-reveal]");
  reveal.value = step;
  reveal.disabled = !state.asks || state.revealed;
  say(room, `Step ${step} of ${last}.${state.asks && state.revealed ? " The answer is shown." : ""}`);
}

function count({ students, answered, asks, bars, names }) {
  show(room, { bars, names });
  const told = `${students} ${students === 1 ? "student" : "students"}`;
  const place = room.querySelector("[data-summary]");
  const text = asks ? `${answered} of ${told} answered` : `${told} in the room`;
  if (place.textContent.trim() !== text) place.textContent = text;
}

function heard({ room: state, counts, over }) {
  if (state) move(state);
  if (counts) count(counts);
  if (over) location.reload(); // the page of a room that is closed
}

async function send(body) {
  try {
    const response = await fetch(controls.action, { method: "POST", headers: { "X-Requested-With": "fetch" }, body });
    const told = await response.json();
    if (!response.ok) say(room, told.error);
  } catch {
    say(room, "The server cannot be reached now. Try again.");
  }
}

controls.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(controls));
  if (event.submitter) body.append(event.submitter.name, event.submitter.value);
  send(body);
});

// Arrow keys step as the buttons do, where nothing else needs them.
document.addEventListener("keydown", (event) => {
  if (
    event.target.closest("input, select, textarea, summary, .scroll") ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey
  )
    return;
  const to = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const button = to && controls.querySelector(`[data-to="${to}"]`);
  if (button && !button.disabled) button.click();
});

if (!room.hasAttribute("data-over")) link(`/ws/rooms/teach/${room.dataset.key}`, { known: () => version, heard });
