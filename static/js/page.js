// Shared by all pages: theme switch, copy buttons, parts that are updated in place.
import { withParams } from "./address.js";
import { store } from "./browser_storage.js";
import { swapParts } from "./partial_update.js";
import { tellOfScrolling } from "./scroll.js";
import "./search.js";

function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  store("theme", next);
  document.dispatchEvent(new Event("themechange"));
}

async function copy(button, text, otherwise) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = otherwise();
  }
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
}

// Returns the address of the shown step. It names the cycle, because the page of a pod shows its last attempt, and the
// map, because it is not at the top of the page of a run.
function stepAddress(button) {
  const { cycle } = button.closest("#pod")?.dataset ?? {};
  const address = withParams(cycle ? { cycle, attempt: null } : {});
  if (button.closest("#map")) address.hash = "map";
  return address.href;
}

function copyText(button) {
  const place = document.getElementById(button.dataset.copy);
  copy(button, place.textContent.trim(), () => {
    getSelection().selectAllChildren(place);
    return "Selected";
  });
}

// Asks for confirmation of irreversible actions in a dialog, then triggers the button.
function ask(button, event) {
  const dialog = document.getElementById("confirm");
  if (dialog.confirmed === button) return;
  event.preventDefault();
  dialog.querySelector("p").textContent = button.dataset.confirm;
  const yes = dialog.querySelector("button[value=yes]");
  yes.textContent = button.getAttribute("aria-label") ?? button.textContent.trim();
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    dialog.confirmed = again(button); // the part with the button may have been replaced in the meantime
    dialog.confirmed?.click();
    dialog.confirmed = null;
  };
  dialog.showModal();
}

function again(button) {
  if (button.isConnected) return button;
  return document.querySelector(`button[name="${CSS.escape(button.name)}"][value="${CSS.escape(button.value)}"]`);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-theme-switch]")) switchTheme();
  if (button.matches("[data-copy]")) copyText(button);
  if (button.matches("[data-copy-link]")) copy(button, stepAddress(button), () => "Copy it from the address bar");
  if (button.matches("[data-dialog]")) document.getElementById(button.dataset.dialog)?.showModal();
  if (button.matches("[data-confirm]")) ask(button, event);
});

swapParts();
tellOfScrolling();
