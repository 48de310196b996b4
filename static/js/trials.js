// Steps through the preemption dry run on a node: all pods that may be evicted are removed, then each is reprieved. The
// URL contains node and step (`node`, `trial`), so reload and Back show the same state.
import { param, pushAddress, replaceParams, withParams } from "./address.js";
import { loadParts, reload } from "./lazy_load.js";

const box = () => document.getElementById("trials");
const steps = () => [...(box()?.querySelectorAll("[data-trial]") ?? [])];
const query = (node, trial) => ({ point: "postfilter", node, trial, plugin: undefined });

// Shows the node after this step.
function show(number) {
  for (const step of steps()) {
    const now = Number(step.dataset.trial) === number;
    step.toggleAttribute("aria-current", now);
    if (now) step.scrollIntoView({ block: "nearest" });
  }
  for (const pod of box().querySelectorAll("[data-at]")) {
    const at = Number(pod.dataset.at);
    pod.dataset.state = number && at > number ? "away" : pod.dataset.outcome;
    pod.classList.toggle("now", at === number);
  }
  const where = box().querySelector("[data-trial-where]");
  if (where) where.textContent = number ? `After step ${number} of ${steps().length}` : `${steps().length} steps`;
}

async function open(node, trial) {
  await reload(box(), { node });
  const number = trial < 0 ? steps().length : trial;
  replaceParams(query(node, number), { own: true });
  show(number);
}

// Goes to the next or previous step, then to those of the next node. Returns false if there is none.
export function trialBy(by) {
  const all = steps();
  if (!all.length) return false;
  const at = all.findIndex((step) => step.hasAttribute("aria-current"));
  const next = all[at < 0 && by < 0 ? all.length - 1 : at + by];
  if (next) {
    choose(Number(next.dataset.trial));
    return true;
  }
  const node = box().querySelector("[data-node]").dataset[by > 0 ? "after" : "before"];
  if (node) open(node, by > 0 ? 1 : -1);
  return Boolean(node);
}

function choose(number) {
  replaceParams(query(box().querySelector("[data-node]").dataset.node, number), { own: true });
  show(number);
}

// Call this when the preemption panel becomes visible: the slow section is fetched only then.
export async function showTrials() {
  if (!box()) return;
  await loadParts(box().parentElement);
  const node = param("node");
  const trial = Number(param("trial")) || 0;
  if (node && node !== box().querySelector("[data-node]")?.dataset.node) await open(node, trial);
  else show(trial);
}

document.addEventListener("click", (event) => {
  const step = event.target.closest("#trials [data-trial]");
  if (step) choose(Number(step.dataset.trial));
  const other = event.target.closest("[data-trials-of]");
  if (other && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    pushAddress(withParams(query(other.dataset.trialsOf, 0)));
    open(other.dataset.trialsOf, 0);
    box().scrollIntoView({ block: "nearest" });
  }
});
document.addEventListener("submit", (event) => {
  if (!event.target.closest("#trials")) return;
  event.preventDefault();
  open(new FormData(event.target).get("node"), 0);
});
