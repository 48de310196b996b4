// Form of the scenario: name, description and timeline.
import { el } from "../dom.js";
import { EFFECTS, more } from "./constraints.js";
import { fields } from "./fields.js";
import { container, KINDS, pod } from "./kinds.js";
import { fresh as freshNodes } from "./nodes.js";
import { get } from "./values.js";

const node = { as: "text", path: [], label: "Node", from: "nodes" };
const reference = [
  {
    as: "choice",
    path: ["kind"],
    label: "Kind",
    options: ["Pod", "Node", ...Object.keys(KINDS).filter((one) => one !== "Pod")],
  },
  { as: "text", path: ["name"], label: "Name", from: "names" },
  { as: "text", path: ["namespace"], label: "Namespace", empty: "default" },
];
const taint = [
  { as: "text", path: ["node"], label: "Node", from: "nodes" },
  { as: "text", path: ["key"], label: "Key" },
  { as: "text", path: ["value"], label: "Value", empty: "none" },
  { as: "choice", path: ["effect"], label: "Effect", options: [["", "any"], ...EFFECTS] },
];
const OBJECT = { fresh: () => freshNodes("new-")[0], fields: [{ as: "own", path: [], make: created }] };
const first = (names) => names.nodes[0] ?? "n-1";

// operation -> {name, fresh(names): initial value, fields}
const OPERATIONS = {
  taint: {
    name: "taint a node",
    fresh: (names) => ({ node: first(names), key: "broken", effect: "NoSchedule" }),
    fields: taint,
  },
  untaint: { name: "remove a taint", fresh: (names) => ({ node: first(names), key: "broken" }), fields: taint },
  cordon: { name: "cordon a node", fresh: first, fields: [node] },
  uncordon: { name: "uncordon a node", fresh: first, fields: [node] },
  drain: { name: "drain a node", fresh: first, fields: [node] },
  create: { name: "create an object", ...OBJECT },
  delete: {
    name: "delete an object",
    fresh: (names) => ({ kind: "Pod", namespace: "default", name: names.pods[0] ?? "web-1" }),
    fields: reference,
  },
  patch: {
    name: "change an object",
    fresh: (names) => {
      const name = names.deployments[0];
      return name
        ? { kind: "Deployment", name, patch: { spec: { replicas: 5 } } }
        : { kind: "Node", name: first(names), patch: { metadata: { labels: { disk: "ssd" } } } };
    },
    fields: [
      ...reference,
      {
        as: "number",
        path: ["patch", "spec", "replicas"],
        label: "Replicas then",
        when: (one) => one?.kind !== "Node",
      },
      { as: "labels", path: ["patch", "metadata", "labels"], label: "New labels" },
    ],
  },
  update: { name: "replace an object", ...OBJECT },
};

// Returns the form of an object that the timeline creates or replaces.
function created(at, value, put, whole) {
  const kind = value?.kind ?? "Node";
  const box = el("div", { class: "field wide fields" });
  const options = ["Node", ...Object.keys(KINDS)];
  const other = (_, wanted) =>
    put(at, wanted === "Node" ? freshNodes("new-")[0] : KINDS[wanted].fresh(KINDS[wanted].name));
  box.append(...fields([{ as: "choice", path: [], label: "Kind", options }], [], kind, other));
  const specs = kind === "Node" ? NODE : (KINDS[kind]?.fields ?? []);
  box.append(...fields(specs, at, whole, put));
  return box;
}

const NODE = [
  { as: "text", path: ["metadata", "name"], label: "Name" },
  { as: "amount", path: ["status", "allocatable", "cpu"], label: "CPUs" },
  { as: "amount", path: ["status", "allocatable", "memory"], label: "Memory" },
  { as: "labels", path: ["metadata", "labels"], label: "Labels", from: "node-labels" },
];

const operationOf = (entry) => Object.keys(OPERATIONS).find((name) => entry?.[name] !== undefined) ?? "taint";

// Summarises a timeline entry.
function says(entry) {
  const operation = operationOf(entry);
  const held = entry?.[operation];
  const what = typeof held === "string" ? held : (held?.node ?? held?.name ?? get(held, ["metadata", "name"]) ?? "");
  return `at ${entry?.at ?? "?"}: ${OPERATIONS[operation].name} ${what}`;
}

// Field of the timeline. `names`: names in the text, see outline.js.
export const timeline = (names) => ({
  as: "cards",
  path: ["spec", "timeline"],
  label: "Events",
  one: "an event",
  title: says,
  fresh: (list) => ({ at: later(list), taint: OPERATIONS.taint.fresh(names) }),
  make(place, entry, put, whole) {
    const operation = operationOf(entry);
    const become = (_, wanted) => put(place, { at: entry.at, [wanted]: OPERATIONS[wanted].fresh(names) });
    const options = Object.entries(OPERATIONS).map(([key, { name }]) => [key, name]);
    const after = { as: "number", path: ["at"], label: "After", hint: "Seconds, or 90s, 5m, 1h." };
    return [
      ...fields([after], place, whole, put),
      ...fields([{ as: "choice", path: [], label: "Operation", options }], [], operation, become),
      ...fields(OPERATIONS[operation].fields, [...place, operation], whole, put),
    ];
  },
});

// Returns a default time for a new entry, after the last one.
function later(list) {
  const last = list.at(-1)?.at;
  return Number.isFinite(last) ? last + 30 : 30;
}

// Field of pods that arrive by a pattern.
export const ARRIVALS = {
  as: "cards",
  path: ["spec", "arrivals"],
  label: "Streams of pods",
  one: "stream of pods",
  title: (one) => one?.name,
  fresh: (list) => ({
    name: list.length ? `batch-${list.length + 1}` : "batch",
    every: "30s",
    count: 10,
    duration: "2m",
    template: { metadata: { labels: { app: "batch" } }, spec: { containers: [container()] } },
  }),
  fields: [
    { as: "text", path: ["name"], label: "Name prefix" },
    { as: "number", path: ["every"], label: "Interval", empty: "no fixed interval", hint: "Seconds, or 90s, 5m." },
    { as: "number", path: ["mean"], label: "Or mean of random intervals", empty: "not random" },
    { as: "number", path: ["start"], label: "Start", empty: "0" },
    { as: "number", path: ["end"], label: "End", empty: "end of the run" },
    { as: "number", path: ["count"], label: "Maximum number of pods", empty: "no limit" },
    { as: "number", path: ["duration"], label: "Duration of each pod", empty: "unlimited" },
    more("Pod template", pod(["spec"], ["metadata"]), ["template"]),
  ],
};

export const ABOUT = [
  { as: "text", path: ["metadata", "name"], label: "Name" },
  { as: "text", path: ["spec", "description"], label: "Description", wide: true },
  { as: "text", path: ["spec", "until"], label: "End", empty: "10 minutes after the last event" },
  { as: "text", path: ["spec", "kubernetes"], label: "Kubernetes", empty: "the newest" },
  { as: "number", path: ["spec", "seed"], label: "Seed", empty: "0" },
  {
    as: "choice",
    path: ["spec", "tieBreak"],
    label: "Ties are broken",
    options: { "": "by the seed (default)", seed: "by the seed", name: "by name" },
  },
];
