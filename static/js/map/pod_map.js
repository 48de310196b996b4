// The cluster in the shown cycle of a pod: after the step that the page selects, else after the whole cycle.
import { replaceParams } from "../address.js";
import { whenVisible } from "../dom.js";
import { Source } from "./api.js";
import { Aside } from "./inspector.js";
import { nearest } from "./ladder.js";
import { PodTrial } from "./pod_trial.js";
import { scarceResource } from "./quantities.js";
import { Share } from "./share.js";
import { pointName } from "./stepper.js";
import { StillMap } from "./still_map.js";
import { focusIn, lastStepOf } from "./url_state.js";
import { laddered, pictured } from "./verdicts.js";
import { openWhatIf } from "./what_if.js";

const box = document.getElementById("pod-map");
const part = (name) => box.querySelector(`[data-${name}]`);
const source = new Source(box.dataset.src);
const shown = { world: null, focus: { node: focusIn(location.search).node }, trace: null, place: {}, point: {} };
const map = new StillMap(box, choose, 0.25);
map.view.by.colour = "verdict"; // the pods that the run placed stand out
const aside = new Aside(box, shown, map.view);
const trial = new PodTrial(box, map.view);
let turn = 0;

new Share(box, map.view, () => {
  const { trace, point, world, focus } = shown;
  const sentence = async () => document.querySelector("#pod .answer-card .answer").textContent;
  const about = { pod: trace?.pod, cycle: trace?.number, cycles: world?.cycles, sentence };
  return { ...about, focus: { ...point, node: focus.node } };
});

function choose(node) {
  shown.focus.node = node;
  map.view.mark(node);
  replaceParams({ node: node || null });
  if (shown.trace) aside.showNode();
}

// The result of the last attempt of a pod without a node is about the end of the run, as the answer of the page.
const atEnd = () => box.dataset.atEnd !== undefined && !focusIn(location.search).point;

async function load() {
  const cycle = Number(box.dataset.cycle);
  turn += 1;
  const mine = turn;
  const place = atEnd() ? {} : { cycle };
  try {
    const [picture, trace] = await Promise.all([source.picture(place), source.cycle(cycle)]);
    if (mine !== turn) return;
    map.show(picture);
    Object.assign(shown, { world: map.view.world, focus: { ...shown.focus, cycle }, trace, place });
    map.view.evicting(trace.victims);
    await showStep();
    part("wait").hidden = true;
  } catch (error) {
    part("wait").textContent = error.message;
    part("wait").hidden = false;
  }
}

async function showStep() {
  const { trace, place } = shown;
  if (!trace) return;
  if (trace.number !== Number(box.dataset.cycle) || atEnd() !== (place.cycle === undefined)) {
    load();
    return;
  }
  const focus = focusIn(location.search);
  const at = lastStepOf(trace.steps, focus);
  const { point, plugin } = trace.steps[at] ?? {};
  trial.offer(trace.pod, trace.number);
  const ladder = at < 0 ? (await source.ladder(trace.pod, place.cycle)).ladder : null;
  const scored = point === "score" && plugin ? await source.cycle(trace.number, plugin) : trace;
  if (trace !== shown.trace || place !== shown.place) return;
  map.view.mark(shown.focus.node ?? "");
  const picture = pictured(scored, at);
  map.view.show(ladder ? laddered(picture, ladder) : picture);
  if (ladder) {
    trial.near(ladder);
    const pods = [...shown.world.pods.values()].filter(({ key }) => key === trace.pod);
    map.choices.prefer(scarceResource(shown.world, pods, nearest(ladder)));
  }
  map.legend.show();
  map.showTable();
  const by = plugin && plugin === focus.plugin ? `: ${plugin}` : "";
  shown.point = { point, plugin: by && plugin };
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
document.addEventListener("podrefreshed", () => {
  replaceParams({ node: shown.focus.node || null }); // the node stays selected in another attempt
  if (shown.trace) showStep();
  else load();
});

whenVisible(box, load);
