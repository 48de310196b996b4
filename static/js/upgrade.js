// Shows the progress of an upgrade preview, and each step as soon as it is computed.
const page = document.getElementById("preview");
const address = `/api/upgrades/${page.dataset.upgrade}?steps=false`;
let known = document.querySelectorAll("[data-part=steps] > section").length;

// Updates the parts that the server renders.
async function refresh() {
  const response = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const old of document.querySelectorAll("[data-part]")) {
    const now = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
    if (now && now.innerHTML !== old.innerHTML) old.innerHTML = now.innerHTML;
  }
}

function move(id, done, total) {
  const bar = document.getElementById(id);
  if (!bar) return;
  bar.max = total || 1;
  bar.value = done;
}

async function look() {
  const response = await fetch(address);
  if (!response.ok) return location.reload(); // the preview was deleted
  const told = await response.json();
  for (const run of told.runs) move(`run-${run.run}`, run.done, run.total);
  move("causes", told.done, told.planned);
  if (told.state !== "queued" && told.state !== "running") return location.reload();
  if (told.known !== known) {
    known = told.known;
    await refresh();
  }
  setTimeout(look, 500);
}

setTimeout(look, 300);
