import assert from "node:assert/strict";
import { test } from "node:test";
import * as labels from "../../static/js/timeline/labels.js";

const { exact, LANES, nameOf, nodeAddress, podAddress, shortened } = labels;

test("a long name keeps its beginning and its end", () => {
  assert.equal(shortened("short"), "short");
  const long = shortened("site-7d9f5b6c44-europe-west1-jrpxpj-qztn2");
  assert.equal(long.length, 28);
  assert.ok(long.startsWith("site-7d9f5b6c"));
  assert.ok(long.endsWith("jrpxpj-qztn2"));
  for (const size of [5, 6, 22]) assert.equal(shortened("x".repeat(99), size).length, size);
});

test("shortened names of one kind still differ", () => {
  const names = [1, 2, 3].map((index) => `gke-production-europe-west1-pool-standard-${index}`);
  assert.equal(new Set(names.map((name) => shortened(name))).size, 3);
});

test("URLs escape any name", () => {
  assert.equal(podAddress("/runs/7/pods/", "shop/front-1"), "/runs/7/pods/shop/front-1/");
  assert.equal(podAddress("/runs/7/pods/", "shop/a?b#c", 1.2345678), "/runs/7/pods/shop/a%3Fb%23c/?t=1.234568");
  assert.equal(podAddress("/runs/7/pods/", "shop/front-1", 0), "/runs/7/pods/shop/front-1/?t=0");
  assert.equal(nodeAddress("/runs/7/nodes/", "a/b"), "/runs/7/nodes/a%2Fb/");
  assert.equal(nodeAddress("/runs/7/nodes/", "n1", 90.5), "/runs/7/nodes/n1/?t=90.5");
  assert.equal(exact(3.0000004), 3);
});

test("every queue has a label and a colour", () => {
  assert.equal(nameOf("popped"), "in a cycle");
  assert.equal(nameOf(""), "new");
  assert.equal(nameOf(null), "new");
  assert.equal(nameOf("backoff"), "backoff");
  for (const lane of Object.keys(LANES)) assert.ok(labels.drawnAs(lane) in LANES && labels.drawnAs(lane) !== "popped");
  assert.equal(labels.nameIn("shop/front-1"), "front-1");
});
