// Wall page of a live class on a lesson: follows the class and shows how many have answered. It controls nothing.
import { link, page, remember, say, show, summarize } from "./socket.js";

let version = Number(page.dataset.version);

function receive({ room: state, wall, over }) {
  if (state) {
    version = state.version;
    show(state.parts);
    page.querySelector("[data-question]").hidden = !state.asks;
    say(`Step ${state.step} of ${page.dataset.of}.${state.asks && state.revealed ? " The answer is shown." : ""}`);
  }
  if (wall) {
    show({ bars: wall.bars });
    summarize(wall);
  }
  if (over) document.querySelector("[data-link]").textContent = over;
}

remember();
link(page.dataset.socket, { known: () => version, receive });
