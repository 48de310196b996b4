import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { offers, pathAt } from "../../static/js/compose/hints.js";

const file = new URL("../../kubesched_ui/composing/kubernetes.json", import.meta.url);
const schema = JSON.parse(readFileSync(file, "utf8"));
// What is offered where ¶ stands.
function at(text) {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("¶"));
  const column = lines[line].indexOf("¶");
  lines[line] = lines[line].replace("¶", "");
  return offers(lines, line, column, schema);
}
const names = (found) => found.list.map(({ text }) => text.replace(/:\s*$/, ""));
const POD = "apiVersion: v1\nkind: Pod\nspec:\n  nodeName: n1\n";

test("fields of where the cursor stands, without those that are there", () => {
  const found = at(`${POD}  ¶`);
  assert.ok(names(found).includes("nodeSelector"));
  assert.ok(!names(found).includes("nodeName"));
  assert.deepEqual(names(at(`${POD}  nodeSe¶`)), ["nodeSelector"]);
  assert.equal(at(`${POD}  nodeSe¶`).word, "nodeSe");
});

test("fields within lists, whether indented or not", () => {
  const requests = (dash) => `${POD}  containers:\n${dash}- name: c\n${dash}  reso¶`;
  assert.ok(names(at(requests("  "))).includes("resources"));
  assert.ok(names(at(requests("    "))).includes("resources"));
  assert.ok(names(at(`${POD}  tolerations:\n    - ¶`)).includes("operator"));
});

test("objects of a scenario and of a list have their own fields", () => {
  const listed = "kind: Scenario\nspec:\n  objects:\n    - apiVersion: v1\n      kind: Node\n      spec:\n        tai¶";
  assert.deepEqual(names(at(listed)), ["taints"]);
  const second = "kind: List\nitems:\n- kind: Node\n- kind: Pod\n  spec:\n    schedulingG¶";
  assert.deepEqual(names(at(second)), ["schedulingGates", "schedulingGroup"]);
});

test("kinds and their versions", () => {
  assert.deepEqual(names(at("kind: Depl¶")), ["Deployment"]);
  assert.deepEqual(names(at("kind: Deployment\napiVersion: ¶")), ["apps/v1"]);
});

test("nothing where a value stands, or nothing is known", () => {
  assert.deepEqual(at(`${POD}  nodeName: n¶`).list, []);
  assert.deepEqual(at("kind: Strange\nspec:\n  a¶").list, []);
});

test("the first fields of an object", () => {
  assert.deepEqual(names(at("ki¶")), ["kind"]);
});

test("the way to a place", () => {
  const lines = "spec:\n  template:\n    spec:\n      containers:\n        - name: c\n          ".split("\n");
  assert.deepEqual(pathAt(lines, 5, 10).path, ["spec", "template", "spec", "containers"]);
});
