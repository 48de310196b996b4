import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, runsOf, sentence } from "../../static/js/experiment_runs.js";

function form(fields) {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

test("runs of a search are trials × seeds", () => {
  const seeds = ["seeds", "2"];
  assert.equal(runsOf(form([["trials", "40"], seeds])), 80);
  assert.equal(runsOf(form([["trials", ""], seeds])), 0);
  assert.equal(runsOf(form([seeds])), 2);
});

test("runs are configurations × releases × seeds", () => {
  const fields = [
    ["configurations", "default"],
    ["configurations", "MostAllocated"],
    ["config", " "],
    ["releases", "1.36"],
    ["releases", "1.35"],
    ["seeds", "3"],
  ];
  assert.equal(runsOf(form(fields)), 12);
  assert.equal(runsOf(form([...fields, ["config_file", new File(["x"], "mine.yaml")]])), 18);
  assert.equal(
    runsOf(
      form([
        ["config", "kind: X"],
        ["releases", "1.36"],
        ["seeds", "2"],
      ]),
    ),
    2,
  );
  assert.equal(
    runsOf(
      form([
        ["config", ""],
        ["releases", "1.36"],
        ["seeds", "2"],
      ]),
    ),
    0,
  );
});

test("a form of seeds alone has one configuration", () => {
  assert.equal(runsOf(form([["seeds", "100"]])), 100);
  assert.equal(runsOf(form([["seeds", "1.5"]])), 0);
});

test("durations have a suitable unit", () => {
  assert.equal(sentence(1, 0.2), "1 run, about a second on one worker.");
  assert.equal(sentence(1200, 1.3), "1,200 runs, about 26 minutes on one worker.");
  assert.equal(sentence(0, 1), "Nothing is selected to run.");
  assert.equal(duration(42.4), "42 s");
  assert.equal(duration(7200), "2.0 hours");
});
