// Dialog of the map with what can be done with a node or a pod. Its form is that of the node's and the pod's page.
import { button, el } from "../dom.js";
import { fetchPage } from "../requests.js";

// Returns the button that opens the dialog for an object; none where no fork can be started, as while the run is active.
export function whatIf(box, kind, key) {
  if (!box.closest("[data-what-if]") || document.querySelector("#run[data-live]")) return "";
  const label = `What if: ${kind} ${key}`;
  return button("What if …", { class: "quiet small", "aria-label": label, "data-ask": `${kind} ${key}` });
}

// Opens the dialog at the timepoint of the map; between the start and the first selected cycle at the start.
export async function openWhatIf(box, target, focus) {
  const [kind, key] = target.split(" ");
  const [name, namespace = ""] = key.split("/").reverse();
  const unit = ["cycle", "t", "seq"].find((one) => focus[one] !== undefined);
  const query = new URLSearchParams({ kind, namespace, name, from: unit ? `${unit} ${focus[unit]}` : "start" });
  const body = el("div", { class: "stack-s what-if" }, el("p", { role: "status", text: "Loading …" }));
  const close = el("form", { method: "dialog" }, el("button", { text: "Close" }));
  const dialog = el("dialog", { class: "wide", "aria-label": `What if: ${kind} ${key}` }, body, close);
  dialog.addEventListener("close", () => dialog.remove());
  box.append(dialog);
  dialog.showModal();
  try {
    const page = await fetchPage(`${box.dataset.whatIf}?${query}`);
    const heading = el("h2", { class: "wrap", text: `What if … ${kind} ${key}` });
    body.replaceChildren(heading, ...page.getElementById("what-if").childNodes);
    body.querySelector("button:not([disabled]), a, select").focus();
  } catch {
    body.textContent = "This could not be loaded. Close it and try again.";
  }
}
