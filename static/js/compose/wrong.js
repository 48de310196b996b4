// What is wrong with the text, in words below it: each leads to its line, and does what is proposed.
import { el } from "../dom.js";
import { counted } from "../words.js";

export class Wrong {
  constructor(list, editor) {
    Object.assign(this, { list, editor, problems: [], at: -1 });
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      const problem = this.problems[button.dataset.problem];
      if (button.dataset.fix !== undefined) this.fix(problem);
      else editor.show(problem.line, problem.column);
    });
  }

  show(problems, more) {
    this.problems = problems;
    this.at = -1;
    this.editor.mark(problems);
    const rows = problems.map((problem, index) => {
      const to = el("button", { class: "quiet", "data-problem": index, text: `Line ${problem.line + 1}` });
      to.type = "button";
      const row = el("li", { class: problem.severity }, to, ` ${problem.message} `);
      if (problem.fix && problem.end) {
        const fix = el("button", { "data-problem": index, "data-fix": "", text: `Write ${problem.fix}` });
        fix.type = "button";
        row.append(fix);
      }
      return row;
    });
    if (more) rows.push(el("li", { text: `and ${counted(more, "more problem")}` }));
    this.list.replaceChildren(...rows);
  }

  // To the next one, from the first on.
  next() {
    if (!this.problems.length) return;
    this.at = (this.at + 1) % this.problems.length;
    const { line, column } = this.problems[this.at];
    this.editor.show(line, column);
  }

  // The word that was meant, in the place of the one that stands there: a key, or the value behind it.
  fix({ line, column, end, fix }) {
    const { cm } = this.editor;
    const text = cm.getLine(line);
    const value = /^(\s*(?:- +)?[\w.$/-]+:\s+)(\S.*)$/.exec(text);
    const key = text.slice(column, end);
    if (/^["A-Z]|\//.test(fix) && value) cm.replaceRange(fix, { line, ch: value[1].length }, { line, ch: text.length });
    else if (key) cm.replaceRange(fix, { line, ch: column }, { line, ch: end });
    this.editor.show(line, column);
  }
}
