// Keyboard shortcuts: single keys, while no text field has the focus and no dialog is open. `?` shows the list in
// <dialog id="keys">. Keys that scroll the page (up, down, space, page up, page down, home, end) are never used.
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const SCROLLED = ".nodelist, pre, .scroll, .track"; // arrow keys scroll or move inside these elements

const keys = {};

// Keys that another module uses already stay its own: the page's before those of the map, which loads later.
export function onKeys(more) {
  Object.assign(keys, { ...more, ...keys });
}

// Calls `go` with the number that the user enters in the dialog for a cycle; "g" opens it.
export function onGoTo(go) {
  const dialog = document.getElementById("go-to");
  onKeys({ g: () => dialog.showModal() });
  dialog.addEventListener("close", () => {
    const wanted = Number(dialog.querySelector("input").value);
    if (dialog.returnValue === "go" && Number.isInteger(wanted)) go(wanted);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(TYPED)) return;
  if (event.key.startsWith("Arrow") && event.target.closest(SCROLLED)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "?") document.getElementById("keys")?.showModal();
  else if (keys[event.key] && !event.shiftKey) keys[event.key]();
  else return;
  event.preventDefault();
});
