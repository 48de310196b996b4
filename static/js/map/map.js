// The map of a run with its controls. See docs/debugger.md, The map.
import { whenVisible } from "../dom.js";
import { Source } from "./api.js";
import { Stops } from "./breakpoint_panel.js";
import { Controls, listenToKeys, listenToNumbers } from "./controls.js";
import { Decisions } from "./decisions.js";
import { Choices } from "./display_options.js";
import { Aside } from "./inspector.js";
import { nearest } from "./ladder.js";
import { Legend } from "./legend.js";
import { Player } from "./player.js";
import { PodTrial } from "./pod_trial.js";
import { amount, resourceName, scarceResource } from "./quantities.js";
import { Share } from "./share.js";
import { CALM } from "./stepper.js";
import { tableSwitch } from "./table_switch.js";
import { Ticker } from "./ticker.js";
import { focusIn } from "./url_state.js";
import { laddered, pictured } from "./verdicts.js";
import { NOTHING, View } from "./view.js";
import { openWhatIf } from "./what_if.js";

const LISTED = 100; // decisions between updates: the list shows each one
const WORDS = 100; // milliseconds between updates of the text around the map during playback
const FRAME = 30; // ... while the clock plays
const REST = 120; // milliseconds at a cycle before the nodes by changes are fetched
const box = document.getElementById("map");
const part = (name) => box.querySelector(`[data-${name}]`);
const inTime = box.dataset.inTime !== undefined;
const source = new Source(box.dataset.src);
const view = new View(part("canvas"), (node) => player.choose(node));
view.tallest = 0.46; // the player and the text at the side are in view with the map
view.by.colour = "verdict"; // the pods that the run placed stand out
const already = Number(box.dataset.cycles); // cycles when the page was made
const decisions = new Decisions(source, already, Boolean(box.dataset.live));
const ticker = new Ticker(part("ticker"), decisions);
const also = () => ticker.load(player.position);
const { leads } = box.dataset; // the page of the run, for a live class that follows this map; `at`: what is shown
const focusAt = (address) => focusIn(new URL(address, location).search);
const home = decisions.live ? { cycle: already + 1 } : {};
const run = document.getElementById("run");
const clock = () => Number(run?.dataset.reached) || 0;
const quiet = leads !== undefined;
const player = new Player({ source, view, inTime, shown, failed, also, home, quiet, decisions, clock });
const controls = new Controls(box, player, inTime);
listenToKeys(() => player);
listenToNumbers(player);
const choices = new Choices(box, [view], shown);
const legend = new Legend(part("shades"), view);
const aside = new Aside(box, player, view);
new Share(box, view, about);
const stops = new Stops(part("stops"), source, player);
let written = { playing: 0, at: 0 }; // last update of the text around the map
const showTable = tableSwitch(box, view, player);
const trial = new PodTrial(box, view);
let world = null;
let turn = 0;
let wanted = ""; // the pod that the user chose at the end

function shown() {
  if (player.arriving) return; // it is called again
  if (player.world !== world) {
    world = player.world;
    choices.offer([world]);
  }
  view.evicting(player.victims);
  view.mark(player.focus.node ?? "");
  const now = performance.now();
  const few = now - written.at < (player.pace ? FRAME : WORDS) && player.position - ticker.last < LISTED;
  if (player.playing && player.playing === written.playing && few) return;
  written = { playing: player.playing, at: now };
  part("wait").hidden = true;
  hand();
  controls.show();
  part("ticker").classList.toggle("fast", player.playing > 0 && player.speed > CALM);
  ticker.show(player.position, player.focus.node);
  tellPosition();
  legend.show();
  aside.show();
  showTable();
  if (player.playing) {
    trial.offer();
    return;
  }
  showLadder().catch(failed);
}

// Shows the nodes by the changes that the current pod needs, at the end those of a pod without a node.
async function showLadder() {
  turn += 1;
  const mine = turn;
  const { trace, step } = player;
  const waiting = !trace && player.atEnd ? pendingPods() : [];
  const one = waiting.find(({ pod }) => pod === wanted) ?? waiting[0];
  const pod = trace?.pod ?? one?.pod;
  trial.offer(pod, trace?.number ?? one?.last, waiting, (other) => {
    wanted = other;
    showLadder().catch(failed);
  });
  if (!pod) return;
  if (step >= 0) {
    if (!trace.node) choices.prefer(scarceResource(world, podsNamed(pod)));
    legend.show();
    return;
  }
  await new Promise((rests) => setTimeout(rests, REST));
  if (mine !== turn) return;
  const { ladder } = await source.ladder(pod, trace?.number);
  if (mine !== turn || player.playing) return;
  trial.near(ladder);
  view.show(laddered(trace ? pictured(trace, -1) : NOTHING, ladder));
  choices.prefer(scarceResource(world, podsNamed(pod), nearest(ladder)));
  legend.show();
  showTable();
}

// The first pod of each group of pods without a node.
function pendingPods() {
  const links = [...document.querySelectorAll("#together a[data-last]")].filter(({ dataset }) => +dataset.last);
  const groups = [...Map.groupBy(links, ({ parentElement }) => parentElement).values()];
  return groups.map(([{ dataset }]) => ({ pod: dataset.pod, last: +dataset.last }));
}

const podsNamed = (key) => [...world.pods.values()].filter((pod) => pod.key === key);

function failed(error) {
  const wait = part("wait");
  wait.hidden = false;
  wait.textContent = error.message;
}

// Tells the page which timepoint is shown, so that its counts are those of the map.
function tellPosition() {
  const { position, head, second: t, playing, stopped } = player;
  const clock = player.pace !== null;
  const { point, plugin } = player.trace?.steps[player.step] ?? {};
  const detail = {
    focus: { ...player.focus, point, plugin },
    position,
    head,
    ...world.outcome(),
    t,
    seq: world.moment,
    playing,
    clock,
    stopped,
  };
  document.dispatchEvent(new CustomEvent("timepoint", { detail }));
}

// Shows the current pod above the map.
function hand() {
  const { trace } = player;
  const requests = trace && [...world.pods.values()].find(({ key, state }) => key === trace.pod && state > 0)?.requests;
  const { fill } = view.by;
  const shows = requests && fill !== "pods" ? `, ${amount(requests[fill] ?? 0, fill)} ${resourceName(fill)}` : "";
  part("hand").hidden = !trace;
  if (trace) part("hand").textContent = `${trace.pod}${shows}`;
}

// Describes what is shown, for sharing it.
function about() {
  const { trace, focus } = player;
  const pod = trace?.pod ?? (player.atEnd ? wanted || pendingPods()[0]?.pod : undefined);
  return { pod, cycle: trace?.number, cycles: world?.cycles, focus, sentence: () => sentenceAbout(pod, trace) };
}

async function sentenceAbout(pod, trace) {
  if (!pod) return document.querySelector('#run [data-part="answer"]').textContent;
  const { sentence } = await source.ladder(pod, trace?.number);
  return sentence;
}

// ---- user actions

box.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { dataset } = button;
  if (dataset.next) nextTime(dataset.next);
  if (dataset.keep) stops.keep({ name: dataset.name, where: dataset.keep });
  if (dataset.closeNode !== undefined) player.choose("");
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-ask]");
  if (!button || !(box.contains(button) || button.closest("#together"))) return;
  openWhatIf(box, button.dataset.ask, player.trace || !player.focus.cycle ? player.focus : {});
});

async function nextTime(where) {
  player.pause();
  try {
    if (!(await player.find(where, 1))) stops.say("No later cycle of this run matches.");
  } catch (error) {
    stops.wrong(where, error);
  }
}

// ---- events of other components

document.addEventListener("swapped", () => player.world && player.write("replace"));
// The timeline moves the clock, to the end of the run so far if `end`, and plays it.
document.addEventListener("moment", ({ detail: { t, end } }) => {
  if (!begun()) return;
  Object.assign(player, { playing: 0, pace: null });
  if (end && player.waits) player.end();
  else player.to({ t }, { address: "later", playing: true });
});
document.addEventListener("led", ({ detail: { address } }) => {
  if (!player.world) return;
  player.pause();
  player.to(focusAt(address));
});
document.addEventListener("play", ({ detail: { pace } }) => (pace ? player.play(1, pace) : player.pause()));

// A run that waits for a worker has no cluster yet.
const begun = () => Number(run?.dataset.seq ?? 1) > 0;

function open() {
  if (leads) player.home = focusAt(box.dataset.at);
  if (decisions.live)
    decisions.follow(box.dataset.live, () => {
      if (decisions.last || (decisions.over && begun())) player.followDecisions().catch(failed);
    });
  if (begun()) (player.live ? player.followDecisions() : player.open()).catch(failed);
  stops.load().catch((error) => stops.say(error.message));
}

// The timeline takes its first timepoint and the breakpoints from here; an active run is followed from the beginning.
if (!leads && (inTime || decisions.live)) open();
else whenVisible(box, open);
