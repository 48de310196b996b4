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
  "as the release has it": undefined,
  "fullest node first (MostAllocated)": config(strategy({ type: "MostAllocated" })),
  "emptiest node first, and nothing else": config(only(STRATEGY)),
  "fullest node first, and nothing else": config({ ...only(STRATEGY), ...strategy({ type: "MostAllocated" }) }),
  "by a curve (RequestedToCapacityRatio)": config(strategy(CURVE)),
};

export function saysScheduler(held) {
  if (held === undefined || held === null || held === "") return "as the release has it";
  const known = Object.entries(PRESETS).find(([, one]) => JSON.stringify(one) === JSON.stringify(held));
  return known ? known[0] : "a configuration of its own";
}

let chosen = ""; // schedulerName of the profile whose weights are shown

// `effective`: {profiles: [{name, score: [{name, weight, usual}]}], appends} or null. `put(configuration)`: reports a
// change.
export function scheduler(held, effective, put) {
  const names = Object.keys(PRESETS);
  const now = saysScheduler(held);
  const preset = { as: "choice", path: [], label: "How nodes are preferred", options: names, wide: true };
  const made = fields([preset], [], now, (_, name) => name in PRESETS && put(PRESETS[name]));
  if (typeof held === "string") {
    const text = "It is written as one text; choose a preset to have it as fields, or change it as YAML.";
    return [...made, el("p", { class: "muted", text })];
  }
  if (!effective) return made;
  const whole = held ?? config({});
  made.push(...weights(whole, effective, put));
  const share = {
    as: "number",
    path: ["percentageOfNodesToScore"],
    label: "Percentage of nodes to score",
    empty: "by the cluster's size",
  };
  made.push(...fields([share], [], held ?? {}, (path, value) => put(set(whole, path, value))));
  return made;
}

// Returns the score weights of a profile, and a choice of the profile if there are several.
function weights(whole, { profiles, appends }, put) {
  const found = profiles.findIndex(({ name }) => name === chosen);
  const at = Math.max(0, found);
  const legend = profiles.length > 1 ? `What scores for pods of ${profiles[at].name}` : "What scores, and its weight";
  const { score } = profiles[at];
  const rows = score.map(({ name, weight, usual }) => ({
    as: "number",
    path: [name],
    label: name,
    hint: usual === weight ? "" : usual ? `${usual} in the release` : "not in the release",
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
    hint: "Pods name it in schedulerName.",
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
