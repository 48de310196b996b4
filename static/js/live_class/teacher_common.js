// Shared by teacher pages: sends actions without leaving the page, maps arrow keys to Back and Next, and shows the
// students.
import { page, say, show } from "./socket.js";

const forms = [...document.querySelectorAll("form[data-moves]")];

async function send(body) {
  try {
    const headers = { "X-Requested-With": "fetch" };
    const response = await fetch(forms[0].action, { method: "POST", headers, body });
    const result = await response.json();
    if (!response.ok) say(result.error);
  } catch {
    say("The server cannot be reached. Try again.");
  }
}

// Returns the data of a form, including a button outside the form that belongs to it.
function sent(form, button) {
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  return body;
}

// `keys`: the buttons for the left and right arrow keys.
export function teach(keys) {
  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(sent(form, event.submitter));
    });
  }
  document.addEventListener("keydown", (event) => {
    // these elements use the keys themselves
    const elsewhere = event.target.closest("input, select, textarea, summary, .scroll, dialog");
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const button = { ArrowLeft: keys[0], ArrowRight: keys[1] }[event.key];
    if (button && !button.disabled) button.click();
  });
}

// Shows another page of the run to the class, after a click on its link.
export function lead(address) {
  const body = new URLSearchParams(new FormData(forms[0]));
  body.set("address", address);
  send(body);
}

export function count({ students, answered, asks, bars, names }) {
  show({ bars, names });
  const all = `${students} ${students === 1 ? "student" : "students"}`;
  const place = page.querySelector("[data-summary]");
  const text = asks ? `${answered} of ${all} answered` : `${all} in the class`;
  if (place.textContent.trim() !== text) place.textContent = text;
}
