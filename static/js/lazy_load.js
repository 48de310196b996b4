// What takes the server longer comes after the page is there: <section id="x" data-load="address"> gets what is in the
// element of its id at that address. What stands in something hidden waits until that is shown.
const begun = new WeakMap(); // element -> what is done when it is there

export function loadParts(within = document) {
  const shown = [...within.querySelectorAll("[data-load]")].filter((box) => !box.closest("[hidden]"));
  return Promise.all(shown.map((box) => begun.get(box) ?? reload(box)));
}

// Also once more, from the address that it has by now.
export function reload(box) {
  const done = load(box);
  begun.set(box, done);
  return done;
}

async function load(box) {
  try {
    const response = await fetch(box.dataset.load, { headers: { "X-Requested-With": "fetch" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById(box.id);
    if (fresh) box.replaceChildren(...fresh.childNodes);
    else box.textContent = page.querySelector("main .wrap").textContent; // why it was not answered
  } catch {
    box.textContent = "This could not be looked at; load the page again.";
  }
}
