// The text of a written lesson: loads its problems and the preview next to it. Also the button that prints a lesson.
import { fetchPage } from "./requests.js";

async function loadCheck(place) {
  const link = document.getElementById("check-link");
  place.textContent = "The lesson is checked …";
  try {
    const page = await fetchPage(place.dataset.check);
    place.replaceChildren(page.getElementById("check") ?? page.querySelector("main").firstElementChild);
    link.hidden = true;
  } catch {
    place.textContent = "The check did not answer. Follow the link “Problems and preview”.";
  }
}

const place = document.querySelector("[data-check]");
if (place) loadCheck(place);

const button = document.querySelector("[data-print]");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
