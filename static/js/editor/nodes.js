// The form of a node group: number, size, zones, labels and taints.
import { counted } from "../format.js";
import { EFFECTS } from "./constraints.js";
import { fields } from "./fields.js";
import { edited, resized, ZONE } from "./node_groups.js";
import { get, set } from "./values.js";

// [name, CPUs, memory], common sizes of cloud providers.
const SIZES = [
  ["small", "2", "4Gi"],
  ["general", "2", "8Gi"],
  ["general", "4", "16Gi"],
  ["general", "8", "32Gi"],
  ["general", "16", "64Gi"],
  ["general", "32", "128Gi"],
  ["many CPUs", "4", "8Gi"],
  ["many CPUs", "16", "32Gi"],
  ["much memory", "4", "32Gi"],
  ["much memory", "16", "128Gi"],
];
const HERE = ["status", "allocatable"];
const USUAL = ["cpu", "memory", "pods"];
const LABELS = ["metadata", "labels"];
const OWN = ["kubernetes.io/hostname", ZONE]; // labels that differ between the nodes of a group

export const fresh = (stem, zones = ["zone-a", "zone-b", "zone-c"]) =>
  zones.map((zone, at) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: `${stem}${at + 1}`,
      labels: { "kubernetes.io/hostname": `${stem}${at + 1}`, [ZONE]: zone },
    },
    status: { allocatable: { cpu: "4", memory: "16Gi", pods: "110" } },
  }));

const filtered = (values, keep) => Object.fromEntries(Object.entries(values ?? {}).filter(([name]) => keep(name)));
const sizeOf = (has) => SIZES.findIndex(([, cpu, memory]) => has?.cpu === cpu && has?.memory === memory);
const inWords = ([name, cpu, memory]) => `${cpu} CPUs, ${memory.replace("Gi", " GiB")} (${name})`;

const TAINTS = {
  as: "cards",
  path: ["spec", "taints"],
  label: "Taints",
  one: "taint",
  fresh: () => ({ key: "dedicated", value: "team", effect: "NoSchedule" }),
  fields: [
    { as: "text", path: ["key"], label: "Key" },
    { as: "text", path: ["value"], label: "Value", empty: "none" },
    { as: "choice", path: ["effect"], label: "Effect", options: EFFECTS },
  ],
};

// Returns the form's elements. `change(make)`: applies the changes of `make(group)` to the text. `taken`: names of
// all other nodes.
export function nodeFields(group, taken, change) {
  const model = group.values[0];
  const size = (wanted) => change((now) => resized(now, wanted, taken));
  const all = (edit) => change((now) => edited(now, edit));
  const put = (path, value) => all((node) => set(node, path, value));
  const has = get(model, HERE) ?? get(model, ["status", "capacity"]) ?? {};
  // Values that are not fields of a node, as an object for the form fields.
  const shown = {
    count: group.values.length,
    stem: group.values.length > 1 ? group.stem : model.metadata?.name,
    zones: group.zones,
    size: String(sizeOf(has)),
    labels: filtered(get(model, LABELS), (name) => !OWN.includes(name)),
    others: filtered(has, (name) => !USUAL.includes(name)),
  };
  const have = (node, amounts) => {
    const now = set(node, HERE, amounts);
    return get(node, ["status", "capacity"]) ? set(now, ["status", "capacity"], amounts) : now;
  };
  const puts = {
    count: (value) => Number.isInteger(value) && value > 0 && size({ count: Math.min(value, 500) }),
    stem: (value) => value && size({ stem: String(value) }),
    zones: (value) => size({ zones: value ?? [] }),
    size: (value) => {
      const [, cpu, memory] = SIZES[value] ?? [];
      if (cpu) all((node) => have(node, { ...get(node, HERE), cpu, memory }));
    },
    labels: (value) =>
      all((node) => {
        const labels = { ...filtered(get(node, LABELS), (name) => OWN.includes(name)), ...value };
        return set(node, LABELS, Object.keys(labels).length ? labels : undefined);
      }),
    others: (value) =>
      all((node) => have(node, { ...filtered(get(node, HERE), (name) => USUAL.includes(name)), ...value })),
  };
  const one = (path, value) => puts[path[0]](value);
  const sizes = [...SIZES.map((each, at) => [String(at), inWords(each)]), ["-1", "another size"]];
  const above = [
    { as: "number", path: ["count"], label: "Number of nodes" },
    { as: "text", path: ["stem"], label: group.values.length > 1 ? "Name prefix" : "Name" },
    { as: "words", path: ["zones"], label: "Zones", empty: "none", wide: true },
    { as: "choice", path: ["size"], label: "Size", options: sizes },
  ];
  const amounts = [
    { as: "amount", path: [...HERE, "cpu"], label: "CPUs" },
    { as: "amount", path: [...HERE, "memory"], label: "Memory" },
    { as: "amount", path: [...HERE, "pods"], label: "Maximum number of pods" },
  ];
  const below = [
    { as: "labels", path: ["labels"], label: "Labels", from: "node-labels" },
    { as: "labels", path: ["others"], label: "Other resources", names: "nvidia.com/gpu" },
  ];
  return [
    ...fields(above, [], shown, one),
    ...fields(amounts, [], model, put),
    ...fields(below, [], shown, one),
    ...fields([TAINTS, { as: "check", path: ["spec", "unschedulable"], label: "Cordoned" }], [], model, put),
  ];
}

// Summarises a group: `6 nodes in 3 zones, 4 CPUs, 16Gi`.
export function says(group) {
  const has = get(group.values[0], HERE) ?? {};
  const zones = group.zones.length > 1 ? ` in ${group.zones.length} zones` : "";
  const taints = get(group.values[0], ["spec", "taints"])?.length ? ", tainted" : "";
  return `${counted(group.values.length, "node")}${zones}, ${has.cpu ?? "?"} CPUs, ${has.memory ?? "?"}${taints}`;
}
