// Animates objects moving from the API server to cache and queue (parts/lesson_object_flow.html), step by step or
// played.
const PACE = 1400; // milliseconds per step during playback

let timer = 0;

// The sentences of all objects: one for each stage of the first object, then of the next one.
const sentences = (walk) => [...walk.querySelectorAll(".walk-steps li")];

function show(walk, at) {
  const lines = sentences(walk);
  const objects = [...walk.querySelectorAll("[data-walk-object]")];
  const stages = [...walk.querySelectorAll("[data-stage]")];
  const step = at % stages.length;
  const current = [lines[at], lines[at].closest("[data-walk-object]"), stages[step]];
  for (const one of [...lines, ...objects, ...stages]) one.toggleAttribute("data-current", current.includes(one));
  walk.dataset.at = at;
  const token = walk.querySelector("[data-token]");
  token.style.left = `${(100 * (step + 0.5)) / stages.length}%`;
  token.textContent = current[1].querySelector("b").textContent;
  walk.querySelector("[data-walk-text]").textContent = `${stages[step].textContent}: ${lines[at].textContent}`;
  walk.querySelector("[data-walk-place]").textContent =
    `object ${objects.indexOf(current[1]) + 1} of ${objects.length}`;
  walk.querySelector("[data-walk-by='-1']").disabled = at === 0;
  walk.querySelector("[data-walk-by='1']").disabled = at === lines.length - 1;
}

function by(walk, way) {
  const at = Number(walk.dataset.at) + way;
  if (at in sentences(walk)) show(walk, at);
  else play(walk, false);
}

function play(walk, on) {
  clearInterval(timer);
  const button = walk.querySelector("[data-walk-play]");
  button.setAttribute("aria-pressed", String(on));
  button.textContent = on ? "Pause" : "Play";
  if (!on) return;
  timer = setInterval(() => {
    if (walk.isConnected) by(walk, 1);
    else clearInterval(timer);
  }, PACE);
}

document.addEventListener("click", (event) => {
  const walk = event.target.closest("[data-walk]");
  const button = event.target.closest("button");
  if (!walk || !button) return;
  if (button.dataset.walkBy) {
    play(walk, false);
    by(walk, Number(button.dataset.walkBy));
  }
  if (button.dataset.walkPlay !== undefined) play(walk, button.getAttribute("aria-pressed") !== "true");
});

// Opening an object in the list selects it for the animation.
document.addEventListener(
  "toggle",
  (event) => {
    const walk = event.target.closest?.("[data-walk]");
    if (!walk || !event.target.open) return;
    play(walk, false);
    show(walk, sentences(walk).indexOf(event.target.querySelector(".walk-steps li")));
  },
  { capture: true },
);

export function beginWalks() {
  for (const walk of document.querySelectorAll("[data-walk]:not([data-at])")) {
    walk.querySelector("[data-walk-controls]").hidden = false;
    show(walk, 0);
  }
}

beginWalks();
