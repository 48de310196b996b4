// What takes the server longer comes after the page is there: <section id="x" data-load="address"> gets what is in the
// element of its id at that address.
const begun = new WeakSet();

export function loadParts(within = document) {
  within.querySelectorAll("[data-load]").forEach(load);
}

async function load(box) {
  if (begun.has(box)) return;
  begun.add(box);
  try {
    const response = await fetch(box.dataset.load, { headers: { "X-Requested-With": "fetch" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(box.id);
    if (!fresh) throw new Error("no such part");
    box.replaceChildren(...fresh.childNodes);
  } catch {
    box.textContent = "This could not be looked at; load the page again.";
  }
}
