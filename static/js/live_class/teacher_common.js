// What a teacher's pages of rooms have in common: what is pressed is sent without leaving the page, arrow keys press
// Back and Next, and it is said who is there.
import { say, show } from "./socket.js";

const forms = [...document.querySelectorAll("form[data-moves]")];

export async function send(room, body) {
  try {
    const headers = { "X-Requested-With": "fetch" };
    const response = await fetch(forms[0].action, { method: "POST", headers, body });
    const told = await response.json();
    if (!response.ok) say(room, told.error);
  } catch {
    say(room, "The server cannot be reached now. Try again.");
  }
}

// What a form sends; also of a button elsewhere in the page that belongs to it.
function sent(form, button) {
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  return body;
}

// `keys`: the buttons for the arrow keys left and right.
export function teach(room, keys) {
  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(room, sent(form, event.submitter));
    });
  }
  document.addEventListener("keydown", (event) => {
    const elsewhere = event.target.closest("input, select, textarea, summary, .scroll, dialog"); // which need them
    if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const button = { ArrowLeft: keys[0], ArrowRight: keys[1] }[event.key];
    if (button && !button.disabled) button.click();
  });
}

// The same form for an address of the run that was pressed in the page.
export function lead(room, address) {
  const body = new URLSearchParams(new FormData(forms[0]));
  body.set("address", address);
  send(room, body);
}

export function count(room, { students, answered, asks, bars, names }) {
  show(room, { bars, names });
  const told = `${students} ${students === 1 ? "student" : "students"}`;
  const place = room.querySelector("[data-summary]");
  const text = asks ? `${answered} of ${told} answered` : `${told} in the room`;
  if (place.textContent.trim() !== text) place.textContent = text;
}
