// The editor of a written lesson: loads problems and preview next to the form, then searches hidden fields, and warns
// of changes that are not saved.
import { fetchPage } from "./requests.js";

async function loadCheck(place) {
  place.textContent = "The lesson is checked …";
  try {
    const page = await fetchPage(place.dataset.check);
    place.replaceChildren(page.getElementById("check") ?? page.querySelector("main").firstElementChild);
  } catch {
    const link = Object.assign(document.createElement("a"), { href: place.dataset.check, textContent: "Show them" });
    place.replaceChildren("The check did not answer. ", link);
    return;
  }
  const results = place.querySelector("[data-search]");
  if (results) await search(results);
}

// The search comes in parts of some seconds at most, so that it shows how far it is and can be stopped.
async function search(place) {
  const progress = Object.assign(document.createElement("p"), { className: "small muted" });
  const stop = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop the search" });
  let address = place.dataset.search;
  stop.addEventListener("click", () => {
    address = "";
    stop.remove();
    progress.append(" Stopped.");
  });
  place.replaceChildren(progress, stop);
  progress.textContent = "Searching for hidden fields that decide an answer …";
  try {
    while (address) {
      const page = await fetchPage(address);
      if (!address) return;
      progress.before(...page.querySelectorAll("[data-found]"));
      const more = page.querySelector("[data-continue]");
      address = more ? new URL(more.getAttribute("href"), new URL(address, location.href)).href : "";
      more?.remove();
      progress.textContent = page.getElementById("progress").textContent;
    }
  } catch {
    progress.textContent = "The search did not answer.";
  }
  stop.remove();
}

const place = document.querySelector("[data-check]");
if (place) loadCheck(place);

const form = document.querySelector("[data-warns]");
if (form) {
  let unsaved = "unsaved" in form.dataset;
  form.addEventListener("input", () => {
    unsaved = true;
  });
  form.addEventListener("submit", () => {
    unsaved = false;
  });
  addEventListener("beforeunload", (event) => {
    if (unsaved) event.preventDefault();
  });
}
