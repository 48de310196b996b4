// Search and go to line in the editor. The browser's own search finds only the rendered lines.
import { from, lineOf, matches, pattern, position } from "./search.js";

export class Finding {
  constructor(box, editor) {
    Object.assign(this, { box, editor, found: [], at: -1, overlay: null, mark: null });
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
    const { cm } = this.editor;
    const selected = cm.getSelection();
    this.begin = cm.getCursor("from");
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
    this.editor.cm.focus();
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
    const { cm } = this.editor;
    this.found = matches(cm.getValue().split("\n"), this.words.value);
    this.paint(this.words.value);
    this.show(from(this.found, this.begin));
  }

  again() {
    if (this.box.hidden) return;
    this.begin = this.editor.cm.getCursor("from");
    this.found = matches(this.editor.cm.getValue().split("\n"), this.words.value);
    this.say();
  }

  go(way) {
    if (this.found.length) this.show((this.at + way + this.found.length) % this.found.length);
  }

  toLine() {
    const line = lineOf(this.line.value, this.editor.cm.lineCount());
    if (line < 0) return;
    this.close();
    this.editor.show(line);
  }

  show(at) {
    const { cm } = this.editor;
    this.at = at;
    this.mark?.clear();
    this.mark = null;
    this.say();
    const match = this.found[at];
    if (!match) return;
    const [start, end] = [match.from, match.to].map((ch) => ({ line: match.line, ch }));
    this.begin = start;
    cm.setSelection(start, end, { scroll: false });
    cm.scrollIntoView({ from: start, to: end }, cm.getScrollInfo().clientHeight / 3);
    if (!this.box.hidden) this.mark = cm.markText(start, end, { className: "composer-here" });
  }

  say() {
    this.status.textContent = this.words.value ? position(this.at, this.found.length) : "";
  }

  // Highlights all matches in view.
  paint(words) {
    const { cm } = this.editor;
    if (this.overlay) cm.removeOverlay(this.overlay);
    this.overlay = words ? overlay(pattern(words)) : null;
    if (this.overlay) cm.addOverlay(this.overlay);
  }
}

function overlay(wanted) {
  return {
    token(stream) {
      wanted.lastIndex = stream.pos;
      const match = wanted.exec(stream.string);
      if (match?.index === stream.pos) {
        stream.pos += match[0].length;
        return "found";
      }
      if (match) stream.pos = match.index;
      else stream.skipToEnd();
      return null;
    },
  };
}
