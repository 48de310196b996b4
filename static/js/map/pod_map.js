// The cluster in the shown cycle of a pod: after the step that the page selects, else after the whole cycle.
import { whenVisible } from "../dom.js";
import { Source } from "./api.js";
import { Aside } from "./inspector.js";
import { pointName } from "./stepper.js";
import { StillMap } from "./still_map.js";
import { focusIn, lastStepOf } from "./url_state.js";
import { pictured } from "./verdicts.js";
import { openWhatIf } from "./what_if.js";

const box = document.getElementById("pod-map");
const part = (name) => box.querySelector(`[data-${name}]`);
const source = new Source(box.dataset.src);
const shown = { world: null, focus: {}, trace: null };
const map = new StillMap(box, choose);
map.view.by.colour = "verdict"; // the pods that the run placed stand out
const aside = new Aside(box, shown, map.view);
let turn = 0;

function choose(node) {
  shown.focus.node = node;
  map.view.mark(node);
  if (shown.trace) aside.showNode();
}

async function load() {
  const cycle = Number(box.dataset.cycle);
  if (shown.trace?.number === cycle) return;
  turn += 1;
  const mine = turn;
  try {
    const [picture, trace] = await Promise.all([source.picture({ cycle }), source.cycle(cycle)]);
    if (mine !== turn) return;
    map.show(picture);
    Object.assign(shown, { world: map.view.world, focus: { ...shown.focus, cycle }, trace });
    map.view.evicting(trace.victims);
    await showStep();
    part("wait").hidden = true;
  } catch (error) {
    part("wait").textContent = error.message;
    part("wait").hidden = false;
  }
}

async function showStep() {
  const { trace } = shown;
  if (!trace) return;
  const focus = focusIn(location.search);
  const at = lastStepOf(trace.steps, focus);
  const { point, plugin } = trace.steps[at] ?? {};
  const scored = point === "score" && plugin ? await source.cycle(trace.number, plugin) : trace;
  if (trace !== shown.trace) return;
  map.view.show(pictured(scored, at));
  map.legend.show();
  const by = plugin && plugin === focus.plugin ? `: ${plugin}` : "";
  part("hand").hidden = false;
  part("hand").textContent = point ? `After ${pointName(point)}${by}` : "Result";
  aside.showNode();
}

box.addEventListener("click", ({ target }) => {
  const { closeNode, ask } = target.closest("button")?.dataset ?? {};
  if (closeNode !== undefined) choose("");
  if (ask) openWhatIf(box, ask, shown.focus);
});
document.addEventListener("stepshown", () => queueMicrotask(showStep)); // after the page has written its address
document.addEventListener("podrefreshed", load);

whenVisible(box, load);
