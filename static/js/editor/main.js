// The scenario editor: text and forms stay in sync. See docs/editor.md.

import { counted } from "../format.js";
import { onKeys } from "../keys.js";
import { StillMap } from "../map/still_map.js";
import { Asking } from "./api.js";
import { Wrong } from "./diagnostics.js";
import { Drafts } from "./drafts.js";
import { Editor } from "./editor.js";
import { Outline } from "./outline.js";
import { Finding } from "./search_panel.js";

const MOST_TRIES = 10;
const LARGEST = 1_000_000; // bytes
const box = document.getElementById("composer");
const part = (name) => box.querySelector(`[data-${name}]`);
const drafts = new Drafts(box.dataset.key);
const area = document.getElementById("text");
const sent = area.value; // the text from the server
const kept = drafts.kept;
if (typeof kept.text === "string" && (!sent || kept.from === sent)) area.value = kept.text;

const asking = new Asking({
  places: { read: box.dataset.read, change: box.dataset.change, run: box.dataset.run, save: box.dataset.save },
  token: box.querySelector("[name=csrfmiddlewaretoken]").value,
  onAnalysis,
  failed(why) {
    part("counted").textContent = "not checked";
    wrong.say(why);
    refuse(why);
  },
  waits: () => {
    part("counted").textContent = "checking …";
  },
});
const editor = new Editor(area, {
  changed,
  run: () => go("run"),
  fields: box.dataset.fields,
  find: () => finding.open(),
  goto: () => finding.open("line"),
});
const finding = new Finding(part("find"), editor);
const wrong = new Wrong(part("problems"), editor);
const picture = new StillMap(part("map"), (name) => name && outline.open("Node", name));
const outline = new Outline(part("outline"), {
  change,
  lines: ({ lines }) => editor.show(lines[0]),
  scoring: box.dataset.scoring,
});
let latest = null; // latest analysis: {reading, text}

// ---- text

function changed() {
  finding.again();
  drafts.keep({ text: editor.text, from: sent });
  showHistory();
  asking.soon(() => editor.text);
}

function onAnalysis(reading, text) {
  latest = { reading, text };
  editor.release = reading.release;
  refuse("");
  wrong.show(reading.problems, reading.more);
  picture.show(reading.picture);
  outline.show(reading);
  part("counted").textContent = summaryOf(reading);
}

function summaryOf({ things, errors, problems, more }) {
  const nodes = things.filter(({ kind }) => kind === "Node").length;
  const warnings = problems.length + more - errors;
  const parts = [counted(nodes, "node"), `${counted(things.length - nodes, "other object")}`];
  if (errors) parts.push(counted(errors, "error"));
  if (warnings) parts.push(counted(warnings, "warning"));
  return parts.join(", ");
}

function refuse(why) {
  part("refused").textContent = why;
  part("refused").hidden = !why;
}

function showHistory() {
  const { undo, redo } = editor.history;
  box.querySelector("[data-do=undo]").disabled = !undo;
  box.querySelector("[data-do=redo]").disabled = !redo;
}

// ---- forms

// Changes the text by the changes that `make()` returns, after the forms are up to date. Changes run one after
// another.
function change(make) {
  return asking
    .next(async () => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const { text } = editor;
        if (latest?.text !== text && !(await caughtUp(text))) continue;
        const changes = make();
        if (!changes.length) return;
        const { edit } = await asking.send("change", { text, changes });
        if (editor.text !== text) continue; // the text was edited in the meantime
        if (edit) editor.put(edit);
        await asking.read(editor.text);
        return;
      }
    })
    .catch((error) => error.name === "AbortError" || refuse(error.message));
}

// Updates the forms to a text. Returns false if a newer text replaced it.
async function caughtUp(text) {
  try {
    await asking.read(text);
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    throw error;
  }
}

// ---- user actions

async function go(place) {
  refuse("");
  part("status").textContent = place === "run" ? "Starting the run …" : "Saving …";
  const text = editor.text;
  try {
    const { url, scenario } = await asking.send(place, { text, tries: drafts.tries });
    if (place === "run") drafts.tried(scenario);
    else drafts.forget();
    location.assign(url);
  } catch (error) {
    part("status").textContent = "";
    refuse(error.message);
    part("refused").scrollIntoView({ block: "nearest" });
  }
}

const doing = {
  run: () => go("run"),
  save: () => go("save"),
  undo: () => editor.undo(),
  redo: () => editor.redo(),
  find: () => finding.open(),
  anew: () => editor.replaceAll(sent), // undo reverts it
};
const file = part("file");
file.addEventListener("change", async () => {
  const [one] = file.files;
  if (!one) return;
  if (one.size > LARGEST) refuse(`${one.name} is too large for the composer. Upload it on the home page.`);
  else editor.replaceAll(await one.text());
  file.value = "";
});

box.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) doing[button.dataset.do]?.();
});
onKeys({ r: doing.run, u: doing.undo, n: () => wrong.next(), e: () => editor.focus() });

if (area.value !== sent) part("begun").textContent = "Your unsaved text was restored. “Discard all” removes it.";
showHistory();
asking.read(editor.text).catch(() => {});
