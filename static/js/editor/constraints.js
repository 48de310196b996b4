// Scheduling constraints of a pod: each has a form, with a sentence that explains it.
import { el } from "../dom.js";
import { button, fields } from "./fields.js";
import { ZONE } from "./node_groups.js";
import { get } from "./values.js";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const NODE = ["affinity", "nodeAffinity"];
const NEAR = ["affinity", "podAffinity"];
const APART = ["affinity", "podAntiAffinity"];
export const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const SELECTS = { In: "is one of", NotIn: "is none of", Exists: "exists", DoesNotExist: "does not exist" };
const SELECTS_NODES = { ...SELECTS, Gt: "is more than", Lt: "is less than" };
const TOPOLOGY = { as: "text", path: ["topologyKey"], label: "Topology key (node label)", from: "node-labels" };

// Returns fields that are shown on demand.
export const more = (label, fields, path = []) => ({ as: "more", path, label, fields });
const requirements = (path, options, from) => ({
  as: "cards",
  path,
  label: "Conditions (all must be met)",
  one: "condition",
  fresh: () => ({ key: from === "node-labels" ? "disk" : "app", operator: "In", values: ["a"] }),
  fields: [
    { as: "text", path: ["key"], label: "Label", from },
    { as: "choice", path: ["operator"], label: "Operator", options },
    { as: "words", path: ["values"], label: "Values", when: (one) => !/Exist/.test(one?.operator) },
  ],
});
const selector = (path) => ({
  as: "group",
  path,
  label: "Selected pods",
  fields: [
    { as: "labels", path: ["matchLabels"], label: "Pods with the labels", from: "pod-labels" },
    more("By conditions", [requirements(["matchExpressions"], SELECTS, "pod-labels")]),
  ],
});
const weight = { as: "number", path: ["weight"], label: "Points, 1 to 100" };
const near = [TOPOLOGY, selector(["labelSelector"]), { as: "words", path: ["namespaces"], label: "Namespaces" }];
const within = (step, specs) => specs.map((spec) => ({ ...spec, path: [step, ...spec.path] }));

const mine = (labels) => ({ matchLabels: Object.keys(labels).length ? labels : { app: "web" } });
const term = (labels) => ({ topologyKey: "kubernetes.io/hostname", labelSelector: mine(labels) });
const condition = () => ({ matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] });

// Alternative node selector terms.
export const TERMS = {
  as: "cards",
  path: ["nodeSelectorTerms"],
  label: "Alternatives (one must be met)",
  one: "alternative",
  fresh: condition,
  fields: [requirements(["matchExpressions"], SELECTS_NODES, "node-labels")],
};

// `at`: path in the pod spec. `list`: each element is one constraint. `fresh(labels)`: initial value for a pod with
// these labels.
export const CONSTRAINTS = [
  {
    name: "Require node labels (node selector)",
    at: ["nodeSelector"],
    fresh: () => ({ disk: "ssd" }),
    fields: [{ as: "labels", path: [], label: "Labels of the node", from: "node-labels" }],
  },
  {
    name: "Require nodes (node affinity)",
    at: [...NODE, REQUIRED],
    fresh: () => ({ nodeSelectorTerms: [condition()] }),
    fields: [TERMS],
  },
  {
    name: "Prefer nodes (preferred node affinity)",
    at: [...NODE, PREFERRED],
    list: true,
    fresh: () => ({ weight: 10, preference: condition() }),
    fields: [weight, ...within("preference", [requirements(["matchExpressions"], SELECTS_NODES, "node-labels")])],
  },
  {
    name: "Spread over zones or nodes",
    at: ["topologySpreadConstraints"],
    list: true,
    fresh: (labels) => ({
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: mine(labels),
    }),
    fields: [
      { as: "number", path: ["maxSkew"], label: "Maximum skew (pods more than the minimum)" },
      TOPOLOGY,
      {
        as: "choice",
        path: ["whenUnsatisfiable"],
        label: "If the skew is exceeded",
        options: { DoNotSchedule: "do not schedule", ScheduleAnyway: "schedule anyway" },
      },
      selector(["labelSelector"]),
      { as: "number", path: ["minDomains"], label: "Minimum number of groups", empty: "1" },
    ],
  },
  {
    name: "Require other pods nearby (pod affinity)",
    at: [...NEAR, REQUIRED],
    list: true,
    fresh: (labels) => ({ ...term(labels), topologyKey: ZONE }),
    fields: near,
  },
  {
    name: "Prefer other pods nearby (preferred pod affinity)",
    at: [...NEAR, PREFERRED],
    list: true,
    fresh: (labels) => ({ weight: 10, podAffinityTerm: { ...term(labels), topologyKey: ZONE } }),
    fields: [weight, ...within("podAffinityTerm", near)],
  },
  { name: "Avoid other pods (pod anti-affinity)", at: [...APART, REQUIRED], list: true, fresh: term, fields: near },
  {
    name: "Prefer to avoid other pods (preferred pod anti-affinity)",
    at: [...APART, PREFERRED],
    list: true,
    fresh: (labels) => ({ weight: 10, podAffinityTerm: term(labels) }),
    fields: [weight, ...within("podAffinityTerm", near)],
  },
  {
    name: "Tolerate a taint",
    at: ["tolerations"],
    list: true,
    fresh: () => ({ key: "dedicated", operator: "Exists", effect: "NoSchedule" }),
    fields: [
      { as: "text", path: ["key"], label: "Key", empty: "any" },
      {
        as: "choice",
        path: ["operator"],
        label: "Operator",
        options: { Exists: "any value", Equal: "this value" },
      },
      { as: "text", path: ["value"], label: "Value", when: (one) => one?.operator !== "Exists" },
      { as: "choice", path: ["effect"], label: "Effect", options: [["", "any"], ...EFFECTS] },
      { as: "number", path: ["tolerationSeconds"], label: "Seconds (NoExecute)", empty: "unlimited" },
    ],
  },
  {
    name: "Priority class",
    at: ["priorityClassName"],
    fresh: () => "high",
    fields: [{ as: "text", path: [], label: "Class", from: "priority-classes" }],
  },
  {
    name: "Bound to a node",
    at: ["nodeName"],
    fresh: () => "n-1",
    fields: [{ as: "text", path: [], label: "Node", from: "nodes" }],
  },
  {
    name: "Wait for a scheduling gate",
    at: ["schedulingGates"],
    list: true,
    fresh: () => ({ name: "example.com/wait" }),
    fields: [{ as: "text", path: ["name"], label: "Gate" }],
  },
  {
    name: "Use a volume claim",
    at: ["volumes"],
    list: true,
    shows: (one) => one?.persistentVolumeClaim,
    fresh: () => ({ name: "data", persistentVolumeClaim: { claimName: "data" } }),
    fields: [
      { as: "text", path: ["name"], label: "Name in the pod" },
      { as: "text", path: ["persistentVolumeClaim", "claimName"], label: "Claim", from: "claims" },
    ],
  },
];

// Returns every constraint of a pod: {kind, path in its spec}.
export function found(spec) {
  return CONSTRAINTS.flatMap((kind) => {
    const held = get(spec, kind.at);
    if (held === undefined || held === null) return [];
    if (!kind.list) return [{ kind, path: kind.at }];
    const list = Array.isArray(held) ? held : [];
    return list.flatMap((one, index) => (!kind.shows || kind.shows(one) ? [{ kind, path: [...kind.at, index] }] : []));
  });
}

// Returns the field with all constraints of a pod. `spec`, `labels`: paths of its spec and its labels.
export function constraints(spec, labels) {
  return {
    as: "own",
    path: [],
    make: (base, _, put, whole) => section([...base, ...spec], [...base, ...labels], put, whole),
  };
}

function section(at, labels, put, whole) {
  const pod = get(whole, at);
  const box = el("fieldset", { class: "field wide constraints" }, el("legend", { text: "Scheduling constraints" }));
  for (const { kind, path } of found(pod)) {
    const place = [...at, ...path];
    const gone = () => put(place, undefined);
    const head = el("div", { class: "row between" }, el("h3", { text: kind.name }));
    head.append(button("Remove", { class: "quiet", "aria-label": `Remove: ${kind.name}` }, gone));
    const sentence = el("p", { class: "says", "data-says": place.join("/") });
    const form = el("div", { class: "fields" }, ...fields(kind.fields, place, whole, put));
    box.append(el("div", { class: "sub" }, head, sentence, form));
  }
  const place = `${at.join("/")}/constraint`;
  const select = el("select", { "aria-label": "Another constraint", "data-at": place, "data-hold": "" });
  select.append(el("option", { value: "", text: "Another constraint …" }));
  for (const [index, { name, at: where, list }] of CONSTRAINTS.entries())
    if (list || get(pod, where) === undefined) select.append(el("option", { value: index, text: name }));
  const add = () => {
    const kind = CONSTRAINTS[select.value];
    if (!kind) return;
    select.value = "";
    const fresh = kind.fresh({ ...get(whole, labels) });
    const held = get(pod, kind.at);
    put([...at, ...kind.at], kind.list ? [...(Array.isArray(held) ? held : []), fresh] : fresh);
  };
  const more = button("Add constraint", { "data-at": `${at.join("/")}/constraint+` }, add);
  box.append(el("div", { class: "row" }, select, more));
  return box;
}
