// Animates objects moving from the API server to cache and queue (parts/lesson_object_flow.html), step by step or
// played.
const PACE = 1400; // milliseconds per step during playback

let timer = 0;

const objects = (walk) => [...walk.querySelectorAll("[data-walk-object]")];
const sentences = (walk, at) => [...objects(walk)[at].querySelectorAll(".walk-steps li")];

function show(walk, at, step) {
  const { length } = objects(walk);
  Object.assign(walk.dataset, { at, step });
  const lines = sentences(walk, at);
  objects(walk).forEach((object, index) => {
    object.toggleAttribute("data-current", index === at);
    object.querySelectorAll(".walk-steps li").forEach((line, place) => {
      line.toggleAttribute("data-current", index === at && place === step);
    });
  });
  const stages = [...walk.querySelectorAll("[data-stage]")];
  stages.forEach((stage, index) => {
    stage.toggleAttribute("data-current", index === step);
  });
  const token = walk.querySelector("[data-token]");
  token.style.left = `${(100 * (step + 0.5)) / stages.length}%`;
  token.textContent = objects(walk)[at].querySelector("b").textContent;
  walk.querySelector("[data-walk-text]").textContent = `${stages[step].textContent}: ${lines[step].textContent}`;
  walk.querySelector("[data-walk-place]").textContent = `object ${at + 1} of ${length}`;
  walk.querySelector("[data-walk-by='-1']").disabled = at === 0 && step === 0;
  walk.querySelector("[data-walk-by='1']").disabled = at === length - 1 && step === lines.length - 1;
}

function by(walk, way) {
  let [at, step] = [Number(walk.dataset.at), Number(walk.dataset.step) + way];
  if (step < 0 && at > 0) {
    at -= 1;
    step = sentences(walk, at).length - 1;
  } else if (step >= sentences(walk, at).length && at < objects(walk).length - 1) {
    at += 1;
    step = 0;
  }
  if (step < 0 || step >= sentences(walk, at).length) return false;
  show(walk, at, step);
  return true;
}

function play(walk, on) {
  clearInterval(timer);
  const button = walk.querySelector("[data-walk-play]");
  button.setAttribute("aria-pressed", String(on));
  button.textContent = on ? "Pause" : "Play";
  if (!on) return;
  timer = setInterval(() => {
    if (!walk.isConnected) clearInterval(timer);
    else if (!by(walk, 1)) play(walk, false);
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
    show(walk, objects(walk).indexOf(event.target.parentElement), 0);
  },
  { capture: true },
);

export function beginWalks() {
  for (const walk of document.querySelectorAll("[data-walk]:not([data-at])")) {
    walk.querySelector("[data-walk-controls]").hidden = false;
    show(walk, 0, 0);
  }
}

beginWalks();
