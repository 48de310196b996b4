// Completion in the editor (Ctrl-Space), from the Kubernetes schema and the scheduler configuration API.
/* global CodeMirror */
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
      const name = document.createElement("strong");
      name.textContent = text.replace(/:\s*$/, "");
      const more = document.createElement("small");
      more.textContent = ` ${held}${about ? ` · ${about}` : ""}`;
      box.append(name, more);
    },
  }));
  cm.showHint({ hint: () => ({ list: shown, from, to: { line, ch } }), completeSingle: false });
}
