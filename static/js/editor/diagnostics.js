// The list of problems below the text. Each entry links to its line and offers a fix if there is one.
import { button, el } from "../dom.js";
import { counted } from "../format.js";

const VALUE = /^(["']?\s*:\s+)("[^"]*"|'[^']*'|[^\s,[\]{}]+)/;

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
      const to = button(`Line ${problem.line + 1}`, { class: "quiet", "data-problem": index });
      const row = el("li", { class: problem.severity }, to, ` ${problem.message} `);
      if (problem.fix && problem.end)
        row.append(button(`Write ${problem.fix}`, { "data-problem": index, "data-fix": "" }));
      return row;
    });
    if (more) rows.push(el("li", { text: `and ${counted(more, "more problem")}` }));
    this.list.replaceChildren(...rows);
  }

  // Shows why the text could not be analysed.
  say(why) {
    this.show([], 0);
    this.list.append(el("li", { class: "error", text: why }));
  }

  // Goes to the next problem, starting with the first.
  next() {
    if (!this.problems.length) return;
    this.at = (this.at + 1) % this.problems.length;
    const { line, column } = this.problems[this.at];
    this.editor.show(line, column);
  }

  // Replaces a word by the intended one: a key, the value after it, or a list element.
  fix({ line, column, end, fix, value }) {
    const behind = VALUE.exec((this.editor.lines[line] ?? "").slice(end));
    const from = value && behind ? end + behind[1].length : column;
    this.editor.replace(line, from, value && behind ? from + behind[2].length : end, fix);
    this.editor.show(line, from);
  }
}
