// Student page of a live class: follows the class, shows earlier steps, and resends an answer until the server
// confirms it.
import { store, stored } from "../browser_storage.js";
import { el } from "../dom.js";
import { fetchJson } from "../requests.js";
import { again, keyOf } from "./outbox.js";
import { fill, link, page, say, show } from "./socket.js";

const form = document.getElementById("question");
const { code } = page.dataset;
let shown = {
  version: Number(page.dataset.version),
  step: Number(page.dataset.step),
  revealed: page.hasAttribute("data-revealed"),
  asks: !form.hidden,
};
let at = Number(page.dataset.class); // current step of the class
let shownAnswer = null; // last received HTML about the student's own answer
let newest = null; // last received state of the class
let wanders = page.hasAttribute("data-wanders");

// ---- display

function steps(last) {
  const nav = page.querySelector("[data-steps]");
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
  page.querySelector("[data-back]").hidden = !wanders;
  const away = wanders ? ` The class is at step ${at}.` : "";
  const revealed = shown.revealed && shown.asks ? " The answer is shown." : "";
  say(`Step ${shown.step} of ${page.dataset.of}.${revealed}${away}`);
}

function showStep(state) {
  const other = state.step !== shown.step;
  shown = state;
  show(state.parts);
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
  if (shownAnswer !== mine) fill(place, mine); // equal text is not announced again
  shownAnswer = mine;
  lock(answered || Boolean(shown.revealed));
  if (answered) keep(step, null);
  else if (pending(step)) send(step);
}

function problem(text) {
  form.querySelector("[data-problem]").textContent = text;
}

// ---- updates of the class

function receive({ room: state, mine, over }) {
  if (over) {
    say(over);
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
    const state = await fetchJson(`/join/${code}/part/${step ? `?step=${step}` : ""}`, "The server cannot be reached.");
    at = state.class;
    wanders = state.step !== at;
    showStep(state);
    own(state);
  } catch (error) {
    problem(error.message);
  }
}

function back() {
  wanders = false;
  if (newest) showStep(newest);
  look(0);
}

page.addEventListener("click", (event) => {
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
    let answer = {};
    try {
      const headers = { "X-Requested-With": "fetch", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
      const response = await fetch(form.action, { method: "POST", headers, body: new URLSearchParams(body) });
      status = response.status;
      answer = await response.json();
    } catch {
      // no response, or an invalid one
    }
    const wait = again(status, tries, Math.random());
    if (wait === null) {
      underWay.delete(step);
      keep(step, null);
      problem(answer.ok || step !== shown.step ? "" : answer.error || "The answer was not accepted. Reload the page.");
      if (answer.ok) own(answer);
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
link(`/ws/classes/${code}`, { known: () => newest?.version ?? shown.version, receive });
