import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, duration, runsOf, sentence } from "../../static/js/experiment_runs.js";

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
  const run = { word: "run", most: false };
  assert.equal(sentence({ cells: 1, seconds: 0.2 }, run), "1 run, about a second on one worker.");
  assert.equal(sentence({ cells: 1200, seconds: 1560 }, run), "1,200 runs, about 26 minutes on one worker.");
  assert.equal(sentence({ cells: 0, seconds: 1 }, run), "Nothing is selected to run.");
  assert.equal(duration(42.4), "42 s");
  assert.equal(duration(7200), "2.0 hours");
});

test("cells follow from a field, from two fields, or from the form as a whole", () => {
  const none = { whole: [1, 0], field: "", choices: {}, word: "computation", adds: "", most: false };
  const measures = { ...none, field: "measures", choices: { compaction: [1, 0.5], replicas: [1, 2] } };
  const chosen = [
    ["measures", "compaction"],
    ["measures", "replicas"],
    ["orders", "11"],
    ["config", "kind: X"],
    ["releases", "1.36"],
  ];
  assert.deepEqual(cellsOf(form(chosen), measures), { cells: 22, seconds: 27.5 });
  const scopes = { ...none, field: "scope mode", choices: { "zone loss": [6, 3], "zone drain": [3, 1] } };
  assert.deepEqual(
    cellsOf(
      form([
        ["scope", "zone"],
        ["mode", "drain"],
      ]),
      scopes,
    ),
    { cells: 3, seconds: 1 },
  );
  const search = { ...none, whole: [1, 2], adds: "seconds", most: true };
  const found = cellsOf(form([["seconds", "10"]]), search);
  assert.equal(sentence(found, search), "1 computation, at most about 12 s on one worker.");
});
