// Search and go to line in the editor. The browser's own search finds only the rendered lines.
import { from, lineOf, matches, pattern, position } from "./search.js";

export class Finding {
  constructor(box, editor) {
    Object.assign(this, { box, editor, found: [], at: -1 });
    this.words = box.querySelector("[data-words]");
    this.line = box.querySelector("[data-line]");
    this.status = box.querySelector("[data-found]");
    this.begin = { line: 0, ch: 0 };
    this.words.addEventListener("input", () => this.look());
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", ({ target }) => {
      const what = target.closest("button")?.dataset.go;
      if (what === "close") this.close();
      else if (what) this.go(what === "next" ? 1 : -1);
    });
  }

  // Opens the panel, with the selected text if it is on one line. `field`: words or line.
  open(field = "words") {
    const { text: selected, begin } = this.editor.selection;
    this.begin = begin;
    this.box.hidden = false;
    if (field === "words" && selected && !selected.includes("\n")) this.words.value = selected;
    this[field].focus();
    this[field].select();
    this.look();
  }

  // Closes the panel and returns to the text with the match selected.
  close() {
    this.box.hidden = true;
    this.show(-1);
    this.paint("");
    this.editor.focus();
  }

  key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key !== "Enter" || event.target.matches("button")) return;
    else if (event.target === this.line) this.toLine();
    else this.go(event.shiftKey ? -1 : 1);
    event.preventDefault(); // do not submit the surrounding form
  }

  // Searches again after a change of the text or the search words.
  look() {
    this.found = matches(this.editor.lines, this.words.value);
    this.paint(this.words.value);
    this.show(from(this.found, this.begin));
  }

  again() {
    if (this.box.hidden) return;
    this.begin = this.editor.selection.begin;
    this.found = matches(this.editor.lines, this.words.value);
    this.say();
  }

  go(way) {
    if (this.found.length) this.show((this.at + way + this.found.length) % this.found.length);
  }

  toLine() {
    const line = lineOf(this.line.value, this.editor.lines.length);
    if (line < 0) return;
    this.close();
    this.editor.show(line);
  }

  show(at) {
    this.at = at;
    this.say();
    const match = this.found[at] ?? null;
    this.editor.markMatch(this.box.hidden ? null : match);
    if (!match) return;
    this.begin = { line: match.line, ch: match.from };
    this.editor.select(match);
  }

  say() {
    this.status.textContent = this.words.value ? position(this.at, this.found.length) : "";
  }

  // Highlights all matches in view.
  paint(words) {
    this.editor.markPattern(words ? pattern(words) : null);
  }
}
