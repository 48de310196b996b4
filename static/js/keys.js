// Keys of a page: single ones, while nobody types and no dialog is open. `?` shows the list in <dialog id="keys">.
// What scrolls a page (up, down, space, page up, page down, home, end) is never taken.
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const SCROLLED = ".nodelist, pre, .scroll, .track"; // arrows move what is in them

const keys = {};

export function onKeys(more) {
  Object.assign(keys, more);
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
