// The drop zone: files dropped anywhere on the page, chosen, or text pasted, all go through the same form.
const zone = document.querySelector(".drop");
const input = zone.querySelector("input[type=file]");
const status = zone.querySelector("[role=status]");

function send(files) {
  if (!files.length) return;
  const data = new DataTransfer();
  for (const file of files) data.items.add(file);
  input.files = data.files;
  zone.requestSubmit();
}

for (const type of ["dragenter", "dragover"])
  document.addEventListener(type, (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) zone.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  zone.classList.remove("over");
  send([...event.dataTransfer.files]);
});
input.addEventListener("change", () => {
  if (input.files.length) zone.requestSubmit();
});

document.addEventListener("paste", (event) => {
  if (event.target.closest("input, textarea")) return;
  const files = [...event.clipboardData.files];
  const text = event.clipboardData.getData("text/plain");
  if (files.length) send(files);
  else if (text.trim()) send([new File([text], "pasted.yaml", { type: "application/yaml" })]);
});

zone.addEventListener("submit", () => {
  const size = [...input.files].reduce((sum, file) => sum + file.size, 0);
  status.textContent = `Reading ${(size / 1e6).toFixed(1)} MB …`;
  for (const button of zone.querySelectorAll("button")) button.disabled = true;
});
