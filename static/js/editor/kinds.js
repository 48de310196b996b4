// The object kinds that have forms: initial values, fields, and a summary line.

import { counted } from "../format.js";
import { constraints, found, more, TERMS } from "./constraints.js";
import { ZONE } from "./node_groups.js";
import { get } from "./values.js";

const meta = (name, labels) => ({ name, ...(labels ? { labels } : {}) });
export const container = () => ({
  name: "main",
  image: "nginx",
  resources: { requests: { cpu: "500m", memory: "256Mi" } },
});
const about = [
  { as: "text", path: ["metadata", "name"], label: "Name" },
  { as: "text", path: ["metadata", "namespace"], label: "Namespace", empty: "default" },
];

const CONTAINERS = {
  as: "cards",
  path: ["containers"],
  label: "Containers",
  one: "container",
  fresh: (list) => ({ ...container(), name: `c${list.length + 1}` }),
  fields: [
    { as: "text", path: ["name"], label: "Name" },
    { as: "text", path: ["image"], label: "Image" },
    { as: "amount", path: ["resources", "requests", "cpu"], label: "CPU", empty: "none" },
    { as: "amount", path: ["resources", "requests", "memory"], label: "Memory", empty: "none" },
    more("Other requests, limits, ports", [
      { as: "labels", path: ["resources", "requests"], label: "All requests", names: "nvidia.com/gpu" },
      { as: "labels", path: ["resources", "limits"], label: "Limits", names: "memory" },
      {
        as: "cards",
        path: ["ports"],
        label: "Ports",
        one: "port",
        fresh: () => ({ containerPort: 80 }),
        fields: [
          { as: "number", path: ["containerPort"], label: "Port" },
          { as: "number", path: ["hostPort"], label: "Host port", empty: "none" },
        ],
      },
    ]),
  ],
};
const under = (path, spec) => ({ ...spec, path: [...path, ...spec.path] });
// Returns the fields of pods whose spec and metadata are at these paths.
export const pod = (spec, metadata) => [
  { as: "labels", path: [...metadata, "labels"], label: "Labels of the pods", from: "pod-labels" },
  under(spec, CONTAINERS),
  constraints(spec, [...metadata, "labels"]),
];
const SPEC = ["spec", "template", "spec"];
const TEMPLATE = pod(SPEC, ["spec", "template", "metadata"]);
const selects = { as: "labels", path: ["spec", "selector", "matchLabels"], label: "Selects pods with the labels" };
const replicas = { as: "number", path: ["spec", "replicas"], label: "Replicas", empty: "1" };
const template = (name, more) => ({
  metadata: { labels: { app: name } },
  spec: { ...more, containers: [container()] },
});
const workload = (kind) => (name) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: meta(name),
  spec: {
    ...(kind === "DaemonSet" ? {} : { replicas: 3 }),
    selector: { matchLabels: { app: name } },
    ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    template: template(name),
  },
});
const ofSpec = (value, spec) => {
  const number = found(get(value, spec)).length;
  return number ? `, ${counted(number, "constraint")}` : "";
};
const ofWorkload = (value) => `${counted(get(value, ["spec", "replicas"]) ?? 1, "replica")}${ofSpec(value, SPEC)}`;
const scaled = {
  group: "Workloads and pods",
  fields: [...about, replicas, ...TEMPLATE, selects],
  says: ofWorkload,
};

// kind -> {fresh(name), name: default name of the first object, fields, says(value): summary, group: heading}
export const KINDS = {
  Deployment: { name: "web", fresh: workload("Deployment"), ...scaled },
  StatefulSet: { name: "db", fresh: workload("StatefulSet"), ...scaled },
  ReplicaSet: { name: "set", fresh: workload("ReplicaSet"), ...scaled },
  DaemonSet: {
    group: "Workloads and pods",
    name: "agent",
    fresh: workload("DaemonSet"),
    fields: [...about, ...TEMPLATE, selects],
    says: (value) => `one pod per node${ofSpec(value, SPEC)}`,
  },
  Job: {
    group: "Workloads and pods",
    name: "batch",
    fresh: (name) => ({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: meta(name),
      spec: { completions: 3, parallelism: 3, template: template(name, { restartPolicy: "Never" }) },
    }),
    fields: [
      ...about,
      { as: "number", path: ["spec", "completions"], label: "Completions", empty: "1" },
      { as: "number", path: ["spec", "parallelism"], label: "Parallelism", empty: "1" },
      ...TEMPLATE,
    ],
    says: (value) => `${counted(get(value, ["spec", "completions"]) ?? 1, "pod")}${ofSpec(value, SPEC)}`,
  },
  Pod: {
    group: "Workloads and pods",
    name: "pod",
    fresh: (name) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta(name, { app: name }),
      spec: { containers: [container()] },
    }),
    fields: [...about, ...pod(["spec"], ["metadata"])],
    says: (value) => {
      const on = get(value, ["spec", "nodeName"]);
      return `${on ? `on ${on}` : "pending"}${ofSpec(value, ["spec"])}`;
    },
  },
  PriorityClass: {
    group: "Priority classes and budgets",
    name: "high",
    fresh: (name) => ({ apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: meta(name), value: 1000 }),
    fields: [
      about[0],
      { as: "number", path: ["value"], label: "Priority", hint: "Higher comes first and may preempt lower ones." },
      {
        as: "choice",
        path: ["preemptionPolicy"],
        label: "Preempts pods of lower priority",
        options: { "": "yes (default)", PreemptLowerPriority: "yes", Never: "never" },
      },
      { as: "check", path: ["globalDefault"], label: "Default for pods without a class" },
    ],
    says: (value) => `priority ${get(value, ["value"]) ?? 0}`,
  },
  PodDisruptionBudget: {
    group: "Priority classes and budgets",
    name: "web",
    fresh: (name) => ({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: meta(name),
      spec: { minAvailable: 2, selector: { matchLabels: { app: "web" } } },
    }),
    fields: [
      ...about,
      { as: "number", path: ["spec", "minAvailable"], label: "Minimum available", hint: "A number, or 50%." },
      { as: "number", path: ["spec", "maxUnavailable"], label: "Or maximum unavailable" },
      { as: "labels", path: ["spec", "selector", "matchLabels"], label: "Of pods with the labels", from: "pod-labels" },
    ],
    says: (value) => {
      const { minAvailable, maxUnavailable } = get(value, ["spec"]) ?? {};
      return maxUnavailable === undefined ? `minAvailable ${minAvailable}` : `maxUnavailable ${maxUnavailable}`;
    },
  },
  PersistentVolumeClaim: {
    group: "Volumes",
    name: "data",
    fresh: (name) => ({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: meta(name),
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "10Gi" } },
        storageClassName: "standard",
      },
    }),
    fields: [
      ...about,
      { as: "amount", path: ["spec", "resources", "requests", "storage"], label: "Size" },
      { as: "text", path: ["spec", "storageClassName"], label: "Storage class", from: "storage-classes" },
      { as: "words", path: ["spec", "accessModes"], label: "Access modes", from: "access-modes" },
      { as: "text", path: ["spec", "volumeName"], label: "Bound to the volume", empty: "none yet", from: "volumes" },
    ],
    says: (value) => get(value, ["spec", "resources", "requests", "storage"]) ?? "",
  },
  PersistentVolume: {
    group: "Volumes",
    name: "pv",
    fresh: (name) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: meta(name),
      spec: {
        capacity: { storage: "10Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "standard",
        csi: { driver: "disk.csi.example.com", volumeHandle: name },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: ["zone-a"] }] }] },
        },
      },
    }),
    fields: [
      about[0],
      { as: "amount", path: ["spec", "capacity", "storage"], label: "Size" },
      { as: "text", path: ["spec", "storageClassName"], label: "Storage class", from: "storage-classes" },
      { as: "words", path: ["spec", "accessModes"], label: "Access modes", from: "access-modes" },
      {
        ...TERMS,
        path: ["spec", "nodeAffinity", "required", "nodeSelectorTerms"],
        label: "Accessible from nodes that meet",
      },
    ],
    says: (value) => get(value, ["spec", "capacity", "storage"]) ?? "",
  },
  StorageClass: {
    group: "Volumes",
    name: "standard",
    fresh: (name) => ({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: meta(name),
      provisioner: "disk.csi.example.com",
      volumeBindingMode: "WaitForFirstConsumer",
    }),
    fields: [
      about[0],
      { as: "text", path: ["provisioner"], label: "Provisioner" },
      {
        as: "choice",
        path: ["volumeBindingMode"],
        label: "Volume binding",
        options: {
          "": "immediate (default)",
          Immediate: "at once",
          WaitForFirstConsumer: "when a pod that uses it is scheduled",
        },
      },
    ],
    says: (value) => get(value, ["volumeBindingMode"]) ?? "Immediate",
  },
};
