import assert from "node:assert/strict";
import { test } from "node:test";
import { counted } from "../../static/js/format.js";

test("singular and plural", () => {
  assert.equal(counted(1, "node"), "1 node");
  assert.equal(counted(0, "node"), "0 nodes");
  assert.equal(counted(5000, "node"), "5,000 nodes");
});
