// Completion in the editor (Ctrl-Space), from the Kubernetes schema and the scheduler configuration API.
/* global CodeMirror */
import { el } from "../dom.js";
import { offers } from "./hints.js";

let table = null; // promise of the schema, fetched once

// `release`: the release whose plugins are offered.
export async function complete(cm, address, release) {
  table ??= fetch(address).then((response) => response.json());
  let schema;
  try {
    schema = await table;
  } catch {
    table = null;
    return;
  }
  const { line, ch } = cm.getCursor();
  const lines = cm.getValue().split("\n");
  const { word, list } = offers(lines, line, ch, schema, release);
  const from = { line, ch: ch - word.length };
  const shown = list.map(({ text, held, about }) => ({
    text,
    render(box) {
      const more = ` ${held}${about ? ` · ${about}` : ""}`;
      box.append(el("strong", { text: text.replace(/:\s*$/, "") }), el("small", { text: more }));
    },
  }));
  cm.showHint({ hint: () => ({ list: shown, from, to: { line, ch } }), completeSingle: false });
}
