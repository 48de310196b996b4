// The text editor: CodeMirror with problem marks and the edits of forms. Undo reverts both typed and form edits.
// Places in the text are {line, ch}, both counted from 0.
import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  Decoration,
  defaultKeymap,
  EditorState,
  EditorView,
  GutterMarker,
  gutter,
  HighlightStyle,
  history,
  historyKeymap,
  indentLess,
  indentMore,
  indentUnit,
  isolateHistory,
  keymap,
  lineNumbers,
  MatchDecorator,
  Prec,
  RangeSet,
  redo,
  redoDepth,
  StateEffect,
  StateField,
  StreamLanguage,
  syntaxHighlighting,
  tags,
  undo,
  undoDepth,
  ViewPlugin,
  yaml,
} from "../../vendor/codemirror.js";
import { el } from "../dom.js";
import { completions } from "./autocomplete.js";

const COLOURS = HighlightStyle.define([
  { tag: tags.atom, class: "cm-atom" },
  { tag: tags.string, class: "cm-string" },
  { tag: tags.number, class: "cm-number" },
  { tag: tags.comment, class: "cm-comment" },
  { tag: tags.keyword, class: "cm-keyword" },
  { tag: tags.meta, class: "cm-meta" },
  { tag: tags.definition(tags.variableName), class: "cm-def" },
]);

class Sign extends GutterMarker {
  constructor({ severity, message }) {
    super();
    Object.assign(this, { severity, message });
  }

  eq(other) {
    return other.severity === this.severity && other.message === this.message;
  }

  toDOM() {
    const text = this.severity === "error" ? "✕" : "!";
    return el("span", { class: `composer-mark ${this.severity}`, title: this.message, text });
  }
}

// Returns a field whose value an effect replaces and changes of the text move.
const rangesOf = (effect, provide) =>
  StateField.define({
    create: () => RangeSet.empty,
    update: (ranges, transaction) =>
      transaction.effects.findLast((one) => one.is(effect))?.value ?? ranges.map(transaction.changes),
    provide,
  });

const underlinesAre = StateEffect.define();
const signsAre = StateEffect.define();
const matchIs = StateEffect.define();
const patternIs = StateEffect.define();
const underlines = rangesOf(underlinesAre, (field) => EditorView.decorations.from(field));
const signs = rangesOf(signsAre);
const match = rangesOf(matchIs, (field) => EditorView.decorations.from(field));

// Highlights all matches in view of the pattern that `patternIs` sets.
const found = ViewPlugin.define(
  () => ({
    decorator: null,
    ranges: RangeSet.empty,
    update(update) {
      const changed = update.transactions.flatMap(({ effects }) => effects).findLast((one) => one.is(patternIs));
      if (changed) {
        const { value: regexp } = changed;
        this.decorator = regexp && new MatchDecorator({ regexp, decoration: Decoration.mark({ class: "cm-found" }) });
        this.ranges = this.decorator?.createDeco(update.view) ?? RangeSet.empty;
      } else if (this.decorator) {
        this.ranges = this.decorator.updateDeco(update, this.ranges);
      }
    },
  }),
  { decorations: ({ ranges }) => ranges },
);

export class Editor {
  // `changed`: called after each change. `run`: called by Ctrl-Enter. `fields`: URL of the Kubernetes schema. `find`,
  // `goto`: called by Ctrl-F and Ctrl-G.
  constructor(area, { changed, run, fields, find, goto }) {
    this.release = ""; // release whose plugins are offered
    const act = (action) => () => {
      action();
      return true;
    };
    const keys = [
      { key: "Tab", run: acceptCompletion },
      { key: "Tab", run: indent, shift: indentLess },
      { key: "Mod-f", run: act(find) },
      { key: "Ctrl-g", run: act(goto) },
      { key: "Ctrl-Enter", mac: "Ctrl-Enter", run: act(run) },
      { key: "Mod-Enter", run: act(run) },
    ];
    const complete = ({ state, pos }) => {
      const { line, ch } = placeOf(state.doc, pos);
      return completions(state.doc.toJSON(), { line, ch, pos }, fields, this.release);
    };
    const state = EditorState.create({
      doc: area.value,
      extensions: [
        StreamLanguage.define(yaml),
        syntaxHighlighting(COLOURS),
        indentUnit.of("  "),
        EditorState.tabSize.of(2),
        history({ minDepth: 1000, newGroupDelay: 400 }),
        autocompletion({ override: [complete], activateOnTyping: false, icons: false, interactionDelay: 0 }),
        lineNumbers(),
        gutter({ class: "composer-marks", markers: (view) => view.state.field(signs) }),
        [underlines, signs, match, found],
        Prec.high(keymap.of(keys)),
        // After the keys of completion: Esc closes its list first.
        keymap.of([...completionKeymap, { key: "Escape", run: leave }, ...historyKeymap, ...defaultKeymap]),
        EditorView.domEventHandlers({ focus: (_, view) => void view.setTabFocusMode(false) }),
        EditorView.updateListener.of(({ docChanged }) => docChanged && changed()),
        // axe-core does not count editable content without a tabindex as focusable.
        EditorView.contentAttributes.of({ "aria-label": "The scenario as YAML", tabindex: "0" }),
      ],
    });
    this.view = new EditorView({ state });
    area.hidden = true;
    area.after(this.view.dom);
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get lines() {
    return this.view.state.doc.toJSON();
  }

  // The selected text and the place where it begins.
  get selection() {
    const { doc, selection } = this.view.state;
    const { from, to } = selection.main;
    return { text: doc.sliceString(from, to), begin: placeOf(doc, from) };
  }

  get history() {
    const { state } = this.view;
    return { undo: undoDepth(state), redo: redoDepth(state) };
  }

  undo() {
    undo(this.view);
  }

  redo() {
    redo(this.view);
  }

  focus() {
    this.view.focus();
  }

  // Returns the offset of a place, which is moved into the text.
  offset({ line, ch }) {
    const { doc } = this.view.state;
    const { from, length } = doc.line(Math.min(Math.max(line, 0), doc.lines - 1) + 1);
    return from + Math.min(ch, length);
  }

  // Replaces the whole text as one undo step.
  replaceAll(text) {
    this.edit(0, this.view.state.doc.length, text);
  }

  // Replaces the text between two places of a line as one undo step.
  replace(line, from, to, text) {
    this.edit(this.offset({ line, ch: from }), this.offset({ line, ch: to }), text);
  }

  edit(from, to, insert) {
    const annotations = isolateHistory.of("full");
    this.view.dispatch({ changes: { from, to, insert }, annotations, userEvent: "input.form" });
  }

  // Inserts the changed lines from the server as one undo step.
  put({ first, last, lines }) {
    const { doc } = this.view.state;
    const text = lines.join("\n");
    const start = (line) => doc.line(line + 1).from;
    const end = (line) => doc.line(line + 1).to;
    if (last < first) {
      if (first >= doc.lines) this.edit(doc.length, doc.length, `\n${text}`);
      else this.edit(start(first), start(first), `${text}\n`);
    } else if (lines.length) {
      this.edit(start(first), end(last), text);
    } else {
      const ends = last + 1 >= doc.lines;
      this.edit(ends && first ? end(first - 1) : start(first), ends ? end(last) : start(last + 1), "");
    }
  }

  // Marks problems at their lines. `problems`: as the server returns them.
  mark(problems) {
    const { doc } = this.view.state;
    const lines = new Map();
    const ranges = [];
    for (const problem of problems) {
      const { severity, column, message: title, end } = problem;
      const line = Math.min(problem.line, doc.lines - 1); // an error at the end of the text is on the line after it
      const from = this.offset({ line, ch: column });
      const to = this.offset({ line, ch: end || Number.POSITIVE_INFINITY });
      if (!lines.has(line)) lines.set(line, new Sign(problem).range(doc.line(line + 1).from));
      const attributes = { title };
      if (from < to) ranges.push(Decoration.mark({ class: `composer-wrong ${severity}`, attributes }).range(from, to));
    }
    const effects = [
      underlinesAre.of(Decoration.set(ranges, true)),
      signsAre.of(RangeSet.of([...lines.values()], true)),
    ];
    this.view.dispatch({ effects });
  }

  // Goes to a line and scrolls it into view.
  show(line, column = 0) {
    this.select({ line, from: column, to: column });
    this.focus();
  }

  // Selects a match of the search, and scrolls it into view.
  select({ line, from, to }) {
    const anchor = this.offset({ line, ch: from });
    const head = this.offset({ line, ch: to });
    const yMargin = this.view.scrollDOM.clientHeight / 3;
    const effects = EditorView.scrollIntoView(anchor, { yMargin, xMargin: 20 });
    this.view.dispatch({ selection: { anchor, head }, effects });
  }

  // Highlights a match of the search; null for none.
  markMatch(place) {
    const range = place && [place.from, place.to].map((ch) => this.offset({ line: place.line, ch }));
    const marked = range && range[0] < range[1] ? [Decoration.mark({ class: "composer-here" }).range(...range)] : [];
    this.view.dispatch({ effects: matchIs.of(Decoration.set(marked)) });
  }

  // Highlights everything in view that matches a pattern with the flag g; null for nothing.
  markPattern(pattern) {
    this.view.dispatch({ effects: patternIs.of(pattern) });
  }
}

function placeOf(doc, offset) {
  const line = doc.lineAt(offset);
  return { line: line.number - 1, ch: offset - line.from };
}

// Tab indents the selected lines, or inserts two spaces.
function indent(view) {
  const { state } = view;
  if (!state.selection.main.empty) return indentMore(view);
  view.dispatch(state.update(state.replaceSelection("  "), { scrollIntoView: true, userEvent: "input" }));
  return true;
}

// After Esc, Tab moves the focus, until the editor gets the focus again.
function leave(view) {
  view.setTabFocusMode(true);
  return true;
}
