// Student page of a live class: follows the class, shows earlier steps, and resends an answer until the server
// confirms it.
import { store, stored } from "../browser_storage.js";
import { el } from "../dom.js";
import { again, keyOf } from "./outbox.js";
import { fill, link, say, show } from "./socket.js";

const room = document.getElementById("room");
const form = document.getElementById("question");
const { code } = room.dataset;
let shown = {
  version: Number(room.dataset.version),
  step: Number(room.dataset.step),
  revealed: room.hasAttribute("data-revealed"),
  asks: !form.hidden,
};
let at = Number(room.dataset.class); // current step of the class
let told = null; // last received HTML about the student's own answer
let newest = null; // last received state of the class
let wanders = room.hasAttribute("data-wanders");

// ---- display

function steps(last) {
  const nav = room.querySelector("[data-steps]");
  const links = [...nav.querySelectorAll("a")];
  for (const extra of links.slice(last)) extra.remove();
  for (let number = links.length + 1; number <= last; number++) {
    const spoken = el("span", { class: "visually-hidden", text: "Step " });
    nav.append(el("a", { href: `?step=${number}`, "data-step": number }, spoken, String(number)));
  }
  for (const one of nav.querySelectorAll("a")) {
    if (Number(one.dataset.step) === shown.step) one.setAttribute("aria-current", "step");
    else one.removeAttribute("aria-current");
  }
}

function where() {
  room.querySelector("[data-back]").hidden = !wanders;
  const away = wanders ? ` The class is at step ${at}.` : "";
  const told = shown.revealed && shown.asks ? " The answer is shown." : "";
  say(room, `Step ${shown.step} of ${room.dataset.of}.${told}${away}`);
}

function showStep(state) {
  const other = state.step !== shown.step;
  shown = state;
  show(room, state.parts);
  form.hidden = !state.asks;
  form.elements.step.value = state.step;
  if (other) {
    own({ step: state.step, mine: "", answered: false });
    problem("");
  }
  if (state.revealed) lock(true);
  steps(Math.max(at, state.step));
  where();
}

function lock(yes) {
  document.getElementById("answering").disabled = yes;
  form.querySelector("[data-send]").hidden = yes;
}

function own({ step, mine, answered }) {
  if (step !== shown.step) return;
  const place = document.getElementById("mine");
  if (told !== mine) fill(place, mine); // equal text is not announced again
  told = mine;
  lock(answered || Boolean(shown.revealed));
  if (answered) keep(step, null);
  else if (pending(step)) send(step);
}

function problem(text) {
  form.querySelector("[data-problem]").textContent = text;
}

// ---- updates of the class

function heard({ room: state, mine, over }) {
  if (over) {
    say(room, over);
    document.querySelector("[data-link]").textContent = over;
    lock(true);
  }
  if (state) {
    at = state.step;
    newest = state;
    if (!wanders) showStep(state);
    else if (shown.step > at) back();
    else {
      steps(at);
      where();
      look(shown.step); // its answer may have been revealed
    }
  }
  if (mine) own(mine);
}

async function look(step) {
  try {
    const response = await fetch(`/join/${code}/part/${step ? `?step=${step}` : ""}`);
    const state = await response.json();
    if (!response.ok) throw new Error(state.error);
    at = state.class;
    wanders = state.step !== at;
    showStep(state);
    own(state);
  } catch (error) {
    problem(error instanceof TypeError ? "The server cannot be reached." : error.message);
  }
}

function back() {
  wanders = false;
  if (newest) showStep(newest);
  look(0);
}

room.addEventListener("click", (event) => {
  const to = event.target.closest("[data-steps] a, [data-back] a");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (to.dataset.step) look(Number(to.dataset.step));
  else back();
});

// ---- answers

const pending = (step) => stored(keyOf(code, step), "sessionStorage");
const keep = (step, body) => store(keyOf(code, step), body, "sessionStorage");

const underWay = new Set();

async function send(step, body = pending(step)) {
  if (underWay.has(step)) return;
  underWay.add(step);
  for (let tries = 0; ; tries++) {
    let status = 0;
    let told = {};
    try {
      const headers = { "X-Requested-With": "fetch", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
      const response = await fetch(form.action, { method: "POST", headers, body: new URLSearchParams(body) });
      status = response.status;
      told = await response.json();
    } catch {
      // no response, or an invalid one
    }
    const wait = again(status, tries, Math.random());
    if (wait === null) {
      underWay.delete(step);
      keep(step, null);
      problem(told.ok || step !== shown.step ? "" : told.error || "The answer was not accepted. Reload the page.");
      if (told.ok) own(told);
      return;
    }
    if (tries) problem("The server cannot be reached. Your answer is sent when the connection is back.");
    await new Promise((after) => setTimeout(after, wait));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form)).toString();
  problem("");
  keep(shown.step, body);
  send(shown.step, body);
});

if (pending(shown.step) && !document.getElementById("answering").disabled) send(shown.step);
link(`/ws/rooms/${code}`, { known: () => newest?.version ?? shown.version, heard });
