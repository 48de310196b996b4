import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { offers, pathAt } from "../../static/js/editor/hints.js";

const file = new URL("../../kubesched_ui/editor/kubernetes.json", import.meta.url);
const schema = JSON.parse(readFileSync(file, "utf8"));
// Completions at ¶.
function at(text, release = "") {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("¶"));
  const column = lines[line].indexOf("¶");
  lines[line] = lines[line].replace("¶", "");
  return offers(lines, line, column, schema, release);
}
// A small scheduler configuration. Python tests compare the served one with the core.
const V1 = "kubescheduler.config.k8s.io/v1";
const BETA = "kubescheduler.config.k8s.io/v1beta2";
const text = ["text", ""];
Object.assign(schema.kinds, { KubeSchedulerConfiguration: { [V1]: "Config", [BETA]: "Config of v1beta2" } });
Object.assign(schema.types, {
  Config: { fields: { parallelism: ["integer", "16"], profiles: ["[Profile]", ""], enableProfiling: ["boolean", ""] } },
  "Config of v1beta2": { fields: { healthzBindAddress: text } },
  Profile: { fields: { plugins: ["Plugins", ""], pluginConfig: ["[PluginConfig]", ""], schedulerName: text } },
  Plugins: { fields: { score: ["PluginSet", ""], filter: ["PluginSet", ""], multiPoint: ["PluginSet", ""] } },
  PluginSet: { fields: { enabled: ["[Plugin]", ""], disabled: ["[Plugin]", ""] } },
  Plugin: { fields: { name: text, weight: ["integer", ""] } },
  PluginConfig: { fields: { name: text, args: ["{any}", ""] } },
  FitArgs: { fields: { scoringStrategy: ["Strategy", ""], ignoredResources: ["[text]", ""] } },
  Strategy: { fields: { type: text } },
});
schema.scheduler = {
  kind: "KubeSchedulerConfiguration",
  args: { [V1]: { NodeResourcesFit: "FitArgs" } },
  releases: {
    1.22: { [BETA]: { ServiceAffinity: ["filter", "score"] } },
    1.36: { [V1]: { NodeResourcesFit: ["filter", "score"], NodeName: ["filter"], ImageLocality: ["score"] } },
  },
};
const CONFIG = `apiVersion: ${V1}\nkind: KubeSchedulerConfiguration\n`;
const named = (...place) => at(...place).list.map(({ text }) => text.replace(/:\s*$/, ""));
const POD = "apiVersion: v1\nkind: Pod\nspec:\n  nodeName: n1\n";

test("fields at the cursor, without existing ones", () => {
  const found = named(`${POD}  ¶`);
  assert.ok(found.includes("nodeSelector") && !found.includes("nodeName"));
  assert.deepEqual(named(`${POD}  nodeSe¶`), ["nodeSelector"]);
  assert.equal(at(`${POD}  nodeSe¶`).word, "nodeSe");
});

test("fields within lists, whether indented or not", () => {
  const requests = (dash) => `${POD}  containers:\n${dash}- name: c\n${dash}  reso¶`;
  assert.ok(named(requests("  ")).includes("resources"));
  assert.ok(named(requests("    ")).includes("resources"));
  assert.ok(named(`${POD}  tolerations:\n    - ¶`).includes("operator"));
});

test("objects of a scenario and of a list have their own fields", () => {
  const listed = "kind: Scenario\nspec:\n  objects:\n    - apiVersion: v1\n      kind: Node\n      spec:\n        tai¶";
  assert.deepEqual(named(listed), ["taints"]);
  const second = "kind: List\nitems:\n- kind: Node\n- kind: Pod\n  spec:\n    schedulingG¶";
  assert.deepEqual(named(second), ["schedulingGates", "schedulingGroup"]);
});

test("kinds and their versions", () => {
  assert.deepEqual(named("kind: Depl¶"), ["Deployment"]);
  assert.deepEqual(named("kind: Deployment\napiVersion: ¶"), ["apps/v1"]);
});

test("no fields at a value or for an unknown kind", () => {
  assert.deepEqual(at(`${POD}  nodeName: n¶`).list, []);
  assert.deepEqual(at("kind: Strange\nspec:\n  a¶").list, []);
});

test("all fields of a new list element are offered", () => {
  assert.ok(named(`${POD}  containers:\n  - name: c\n  - na¶`).includes("name"));
});

test("fields of a scheduler's configuration, of the version that it names", () => {
  assert.deepEqual(named(`${CONFIG}p¶`), ["parallelism", "profiles"]);
  assert.deepEqual(named(`apiVersion: ${BETA}\nkind: KubeSchedulerConfiguration\nh¶`), ["healthzBindAddress"]);
  assert.deepEqual(named(`${CONFIG}profiles:\n- schedulerName: a\n  plugins:\n    s¶`), ["score"]);
  assert.deepEqual(named(`${CONFIG}profiles:\n  - plugins:\n      score:\n        ¶`), ["enabled", "disabled"]);
  assert.deepEqual(named(`${CONFIG}enableProfiling: ¶`), ["true", "false"]);
});

test("fields of a plugin's arguments, with the name before or after them", () => {
  const config = `${CONFIG}profiles:\n- pluginConfig:\n  - name: Other\n  - `;
  assert.deepEqual(named(`${config}name: NodeResourcesFit\n    args:\n      sco¶`), ["scoringStrategy"]);
  assert.deepEqual(named(`${config}args:\n      ¶\n    name: NodeResourcesFit`), [
    "scoringStrategy",
    "ignoredResources",
  ]);
  assert.deepEqual(named(`${config}name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        ¶`), ["type"]);
  assert.deepEqual(named(`${config}name: Strange\n    args:\n      ¶`), []);
});

test("plugins that the release has at that extension point", () => {
  const list = (point, which) => `${CONFIG}profiles:\n- plugins:\n    ${point}:\n      ${which}:\n      - name: ¶`;
  assert.deepEqual(named(list("score", "enabled")), ["NodeResourcesFit", "ImageLocality"]);
  assert.deepEqual(named(list("multiPoint", "enabled"), "1.36"), ["NodeResourcesFit", "NodeName", "ImageLocality"]);
  assert.deepEqual(named(list("filter", "disabled")), ['"*"', "NodeResourcesFit", "NodeName"]);
  assert.deepEqual(named(list("score", "enabled"), "1.22"), ["ServiceAffinity"]);
  assert.deepEqual(named(list("score", "enabled"), "1.22.9"), ["ServiceAffinity"]);
  const second = `${CONFIG}profiles:\n- plugins:\n    score:\n      enabled:\n      - name: A\n        weight: 2\n      - name: Im¶`;
  assert.deepEqual(named(second), ["ImageLocality"]);
  assert.deepEqual(named(`${CONFIG}profiles:\n- pluginConfig:\n  - name: ¶`), ["NodeResourcesFit"]);
});

test("versions of a configuration that the release reads", () => {
  assert.deepEqual(named("kind: KubeSchedulerConfiguration\napiVersion: ¶", "1.22"), [BETA]);
});

test("a configuration within a scenario", () => {
  Object.assign(schema.kinds, { Scenario: { v: "Ours" } });
  Object.assign(schema.types, {
    Ours: { fields: { spec: ["OurSpec", ""] } },
    OurSpec: { fields: { config: ["Config", ""] } },
  });
  const within =
    "apiVersion: v\nkind: Scenario\nspec:\n  config:\n    profiles:\n    - plugins:\n        score:\n          ";
  assert.deepEqual(named(`${within}enabled:\n          - name: Im¶`), ["ImageLocality"]);
  assert.deepEqual(named(`${within}e¶`), ["enabled"]);
});

test("the first fields of an object", () => {
  assert.deepEqual(named("ki¶"), ["kind"]);
});

test("the path to a position", () => {
  const lines = "spec:\n  template:\n    spec:\n      containers:\n        - name: c\n          ".split("\n");
  assert.deepEqual(pathAt(lines, 5, 10).path, ["spec", "template", "spec", "containers"]);
});
