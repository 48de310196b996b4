// Form of the scheduler configuration: presets, score weights, percentage of nodes to score.
import { el } from "../dom.js";
import { fields } from "./fields.js";
import { set } from "./values.js";
import { weighed } from "./weights.js";

export const SCHEDULER = "Scheduler";
const API = "kubescheduler.config.k8s.io/v1";
const STRATEGY = "NodeResourcesFit";
const cpuAndMemory = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];
const config = (profile) => ({
  apiVersion: API,
  kind: "KubeSchedulerConfiguration",
  profiles: [{ schedulerName: "default-scheduler", ...profile }],
});
const strategy = (scoringStrategy) => ({
  pluginConfig: [{ name: STRATEGY, args: { scoringStrategy: { resources: cpuAndMemory, ...scoringStrategy } } }],
});
const only = (name) => ({ plugins: { score: { disabled: [{ name: "*" }], enabled: [{ name, weight: 1 }] } } });
const shape = [
  { utilization: 0, score: 0 },
  { utilization: 100, score: 10 },
];
const CURVE = { type: "RequestedToCapacityRatio", requestedToCapacityRatio: { shape } };

// name -> configuration of the preset; undefined for the default.
const PRESETS = {
  "default of the release": undefined,
  "prefer full nodes (MostAllocated)": config(strategy({ type: "MostAllocated" })),
  "only prefer empty nodes": config(only(STRATEGY)),
  "only prefer full nodes": config({ ...only(STRATEGY), ...strategy({ type: "MostAllocated" }) }),
  "follow a curve (RequestedToCapacityRatio)": config(strategy(CURVE)),
};

export function saysScheduler(held) {
  if (held === undefined || held === null || held === "") return "default of the release";
  const known = Object.entries(PRESETS).find(([, one]) => JSON.stringify(one) === JSON.stringify(held));
  return known ? known[0] : "custom configuration";
}

let chosen = ""; // schedulerName of the profile whose weights are shown

// `effective`: {profiles: [{name, score: [{name, weight, usual}]}], appends} or null. `put(configuration)`: reports a
// change.
export function scheduler(held, effective, put) {
  const names = Object.keys(PRESETS);
  const now = saysScheduler(held);
  const preset = { as: "choice", path: [], label: "Scoring preset", options: names, wide: true };
  const made = fields([preset], [], now, (_, name) => name in PRESETS && put(PRESETS[name]));
  if (typeof held === "string") {
    const text = "The configuration is a text. Choose a preset to edit it with fields, or edit the YAML.";
    return [...made, el("p", { class: "muted", text })];
  }
  if (!effective) return made;
  const whole = held ?? config({});
  made.push(...weights(whole, effective, put));
  const share = {
    as: "number",
    path: ["percentageOfNodesToScore"],
    label: "Percentage of nodes to score",
    empty: "adaptive",
  };
  made.push(...fields([share], [], held ?? {}, (path, value) => put(set(whole, path, value))));
  return made;
}

// Returns the score weights of a profile, and a choice of the profile if there are several.
function weights(whole, { profiles, appends }, put) {
  const found = profiles.findIndex(({ name }) => name === chosen);
  const at = Math.max(0, found);
  const legend = profiles.length > 1 ? `Score weights of ${profiles[at].name}` : "Score weights";
  const { score } = profiles[at];
  const rows = score.map(({ name, weight, usual }) => ({
    as: "number",
    path: [name],
    label: name,
    hint: usual === weight ? "" : usual ? `default ${usual}` : "not in the release",
  }));
  const held = Object.fromEntries(score.map(({ name, weight }) => [name, weight]));
  const weigh = ([name], weight) => put(weighed(whole, at, name, weight, appends));
  const form = el("div", { class: "fields" }, ...fields(rows, [], held, weigh));
  const box = el("fieldset", { class: "field wide" }, el("legend", { text: legend }), form);
  if (profiles.length === 1) return [box];
  const which = {
    as: "choice",
    path: ["schedulerName"],
    label: "Profile",
    hint: "Pods select a profile with schedulerName.",
    options: profiles.map(({ name }) => name),
    wide: true,
  };
  const choose = (_, name) => {
    chosen = name;
    const [choice, other] = weights(whole, { profiles, appends }, put);
    box.replaceWith(other);
    select.replaceWith(choice);
    choice.querySelector("select").focus();
  };
  const [select] = fields([which], [], { schedulerName: profiles[at].name }, choose);
  return [select, box];
}
