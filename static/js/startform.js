// Form that starts a run: shows the fields for the selected kind of pods, and searches the list of bound pods.
const form = document.getElementById("startform");

function showFields() {
  const which = form.elements.which.value;
  const mode = form.elements.mode.value;
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== which;
  for (const part of form.querySelectorAll("[data-for-mode]")) part.hidden = part.dataset.forMode !== mode;
}

function pickList() {
  const labels = [...form.querySelectorAll("#picks label")];
  const texts = labels.map((label) => label.textContent.toLowerCase());
  const count = form.querySelector("#pick-count");
  const tell = () => {
    const ticked = labels.filter((label) => label.control.checked).length;
    count.textContent = `${ticked} of ${labels.length} selected`;
  };
  const field = form.querySelector("#pick");
  const search = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    labels.forEach((label, index) => {
      label.hidden = !words.every((word) => texts[index].includes(word));
    });
  };
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  const tick = (some, checked) => {
    for (const label of some) label.control.checked = checked;
    tell();
  };
  const shown = () => labels.filter((label) => !label.hidden);
  form.querySelector("#pick-all").addEventListener("click", () => tick(shown(), true));
  form.querySelector("#pick-none").addEventListener("click", () => tick(labels, false));
  form.querySelector("#picks").addEventListener("change", tell);
  search(); // for what was typed before this script ran
  tell();
}

// Shows the expected duration and waiting time of the run, updated after relevant changes.
function tellExpected() {
  const place = form.querySelector("#expected");
  let last = place.textContent;
  async function ask() {
    const chosen = form.elements;
    const query = new URLSearchParams({ release: chosen.release.value, in_time: String(chosen.mode.value === "time") });
    const typed = chosen.unbind.value.split(/[\s,]+/).filter(Boolean).length;
    const ticked = form.querySelectorAll("#picks input:checked").length;
    if (chosen.which.value === "unbind") query.set("pods", String(typed + ticked));
    if (chosen.which.value === "template") query.set("pods", String(Math.max(1, Number(chosen.copies.value) || 1)));
    const answer = await fetch(`${place.dataset.ask}?${query}`).catch(() => null);
    const text = answer?.ok ? (await answer.json()).sentence : "";
    if (text !== last) place.textContent = last = text;
  }
  form.addEventListener("change", (event) => {
    if (event.target.matches("#release, #copies, #unbind, [name=which], [name=mode], #picks input")) ask();
  });
  for (const id of ["#pick-all", "#pick-none"]) form.querySelector(id).addEventListener("click", ask);
}

// After an error: opens and focuses the invalid field, and scrolls it to the middle of the view.
function showMistake() {
  const field = form.querySelector("[aria-invalid]");
  if (!field) return;
  for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  field.focus({ preventScroll: true });
  field.scrollIntoView({ block: "center" });
}

if (form) {
  form.addEventListener("change", showFields);
  showFields();
  pickList();
  tellExpected();
  showMistake();
}
