// Form of the scheduler configuration: strategy and weights as on all pages, and the percentage of nodes to score.
import { el } from "../dom.js";
import { fetchPage } from "../requests.js";
import { button, fields } from "./fields.js";
import { set } from "./values.js";

export const SCHEDULER = "Scheduler";
const EMPTY = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };
const forms = new Map(); // release -> elements of its form

export const saysScheduler = (held) => (held ? "a configuration of its own" : "default of the release");

// `address`: of the form of strategy and weights. `put(configuration)` reports a change, `score(form)` the values of
// that form.
export function scheduler(held, release, address, { put, score }) {
  const made = [scoring(release, address, score)];
  if (typeof held !== "string") {
    const share = {
      as: "number",
      path: ["percentageOfNodesToScore"],
      label: "Percentage of nodes to score",
      empty: "adaptive",
    };
    made.push(...fields([share], [], held ?? {}, (path, value) => put(set(held ?? EMPTY, path, value))));
  }
  if (held) made.push(button("Use the default of the release", { "data-at": "default" }, () => put(undefined)));
  return made;
}

function scoring(release, address, score) {
  const form = el("form", { class: "field wide stack-s" });
  const apply = el("button", { "data-at": "apply", text: "Apply to the configuration" });
  const fill = () => form.replaceChildren(forms.get(release).cloneNode(true), el("div", {}, apply));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    score(Object.fromEntries(new FormData(form)));
    form.reset(); // what is chosen from now on is kept when the card is filled again
  });
  if (forms.has(release)) fill();
  else load(release, address).then(fill, () => form.append("The form could not be loaded. Reload the page."));
  return form;
}

async function load(release, address) {
  const page = await fetchPage(`${address}?${new URLSearchParams({ release })}`);
  const found = page.querySelector("details.scoring");
  found.open = true;
  forms.set(release, found);
}
