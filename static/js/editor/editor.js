// The text editor: CodeMirror with problem marks and the edits of forms. Undo reverts both typed and form edits.
/* global CodeMirror */
import { el } from "../dom.js";
import { complete } from "./autocomplete.js";

const INDENT = {
  Tab: (cm) => (cm.somethingSelected() ? cm.indentSelection("add") : cm.replaceSelection("  ", "end")),
  "Shift-Tab": (cm) => cm.indentSelection("subtract"),
};

export class Editor {
  // `changed`: called after each change. `run`: called by Ctrl-Enter. `fields`: URL of the Kubernetes schema. `find`,
  // `goto`: called by Ctrl-F and Ctrl-G.
  constructor(area, { changed, run, fields, find, goto }) {
    this.marks = [];
    this.release = ""; // release whose plugins are offered
    const { keyMap } = globalThis.CodeMirror;
    const find_key = keyMap.default === keyMap.macDefault ? "Cmd-F" : "Ctrl-F";
    const cm = globalThis.CodeMirror.fromTextArea(area, {
      mode: "yaml",
      lineNumbers: true,
      tabSize: 2,
      indentWithTabs: false,
      inputStyle: "contenteditable", // the scrolling element then has the focus, also for screen readers
      gutters: ["CodeMirror-linenumbers", "composer-marks"],
      viewportMargin: 60,
      theme: "tokens",
      undoDepth: 1000,
      historyEventDelay: 400,
      extraKeys: {
        ...INDENT,
        Esc: (one) => this.leave(one),
        "Ctrl-Space": () => complete(cm, fields, this.release),
        [find_key]: () => find(),
        "Ctrl-G": () => goto(),
        "Ctrl-Enter": () => run(),
        "Cmd-Enter": () => run(),
      },
    });
    this.cm = cm;
    const input = cm.getInputField();
    input.setAttribute("aria-label", "The scenario as YAML");
    input.setAttribute("aria-multiline", "true");
    input.setAttribute("role", "textbox");
    cm.on("change", () => changed());
    cm.on("focus", () => this.hold());
  }

  get text() {
    return this.cm.getValue();
  }

  set text(text) {
    this.cm.setValue(text);
    this.cm.clearHistory();
  }

  // Tab indents until Esc is pressed; then it moves the focus as usual.
  leave(cm) {
    cm.setOption("extraKeys", { ...cm.getOption("extraKeys"), Tab: false, "Shift-Tab": false });
  }

  hold() {
    this.cm.setOption("extraKeys", { ...this.cm.getOption("extraKeys"), ...INDENT });
  }

  // Inserts the changed lines from the server as one undo step.
  put({ first, last, lines }) {
    const { cm } = this;
    const text = lines.join("\n");
    cm.operation(() => {
      cm.changeGeneration(true); // starts a new undo step
      if (last < first) {
        const from = { line: first, ch: 0 };
        if (first > cm.lastLine()) cm.replaceRange(`\n${text}`, { line: cm.lastLine() }, undefined, "+form");
        else cm.replaceRange(`${text}\n`, from, from, "+form");
      } else if (lines.length) {
        cm.replaceRange(text, { line: first, ch: 0 }, { line: last }, "+form");
      } else {
        const to = last < cm.lastLine() ? { line: last + 1, ch: 0 } : { line: last };
        const from = last < cm.lastLine() || !first ? { line: first, ch: 0 } : { line: first - 1 };
        cm.replaceRange("", from, to, "+form");
      }
      cm.changeGeneration(true);
    });
  }

  // Marks problems at their lines. `problems`: as the server returns them.
  mark(problems) {
    const { cm } = this;
    cm.operation(() => {
      for (const mark of this.marks) mark.clear();
      this.marks = [];
      cm.clearGutter("composer-marks");
      for (const problem of [...problems].reverse()) {
        const { line, severity, column, message: title } = problem;
        const sign = el("span", { class: `composer-mark ${severity}`, title, text: severity === "error" ? "✕" : "!" });
        cm.setGutterMarker(line, "composer-marks", sign);
        const end = problem.end || cm.getLine(line)?.length || 0;
        const style = { className: `composer-wrong ${severity}`, title };
        this.marks.push(cm.markText({ line, ch: column }, { line, ch: end }, style));
      }
    });
  }

  // Goes to a line and scrolls it into view.
  show(line, column = 0) {
    const { cm } = this;
    cm.focus();
    cm.setCursor({ line, ch: column });
    cm.scrollIntoView({ line, ch: column }, cm.getScrollInfo().clientHeight / 3);
  }

  get history() {
    return this.cm.historySize();
  }
}
