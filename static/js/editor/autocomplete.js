// Completion in the editor (Ctrl-Space), from the Kubernetes schema and the scheduler configuration API.
import { offers } from "./hints.js";

let table = null; // promise of the schema, fetched once

// Returns what can be typed at a place of the text, as CodeMirror takes it, or null without a schema. `pos`: the offset
// of the place. `release`: the release whose plugins are offered.
export async function completions(lines, { line, ch, pos }, address, release) {
  table ??= fetch(address).then((response) => response.json());
  let schema;
  try {
    schema = await table;
  } catch {
    table = null;
    return null;
  }
  const { word, list } = offers(lines, line, ch, schema, release);
  const options = list.map(({ text, held, about }) => ({
    label: text.replace(/:\s*$/, ""),
    apply: text,
    detail: [held, about].filter(Boolean).join(" · ") || undefined,
  }));
  return { from: pos - word.length, options, filter: false };
}
