// Shared by teacher pages: sends actions without leaving the page, maps arrow keys to Back and Next, and shows the
// students.
import { onKeys } from "../keys.js";
import { fetchJson } from "../requests.js";
import { say, show, summarize } from "./socket.js";

const forms = [...document.querySelectorAll("form[data-moves]")];

async function send(body) {
  const failure = "The server cannot be reached. Try again.";
  return fetchJson(forms[0].action, failure, { method: "POST", body }).catch(({ message }) => say(message));
}

// `keys`: the buttons for the left and right arrow keys.
export function teach(keys) {
  for (const form of forms) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(new URLSearchParams(new FormData(form, event.submitter)));
    });
  }
  onKeys({ ArrowLeft: () => keys[0].click(), ArrowRight: () => keys[1].click() });
}

// Shows another page of the run to the class, after a click on its link.
export function lead(address) {
  const body = new URLSearchParams(new FormData(forms[0]));
  body.set("address", address);
  return send(body);
}

export function count(counts) {
  show({ bars: counts.bars, names: counts.names });
  summarize(counts);
}
