// What the editor uses of CodeMirror (static/js/editor/editor.js). scripts/bundle_codemirror.py makes one file of it.
export { acceptCompletion, autocompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
export {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
  isolateHistory,
  redo,
  redoDepth,
  undo,
  undoDepth,
} from "@codemirror/commands";
export { HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
export { yaml } from "@codemirror/legacy-modes/mode/yaml";
export { EditorState, Prec, RangeSet, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration,
  EditorView,
  GutterMarker,
  gutter,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
} from "@codemirror/view";
export { tags } from "@lezer/highlight";
