// Drop zone: files dropped anywhere on the page, selected files and pasted text are sent with the same form.
import { el } from "./dom.js";

const zone = document.querySelector(".drop");
const input = zone.querySelector("input[type=file]");
const status = zone.querySelector("[role=status]");
const bar = zone.querySelector("progress");

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
  else if (isMessage(text)) explain(text);
  else if (text.trim()) send([new File([text], "pasted.yaml", { type: "application/yaml" })]);
});

/** Whether a pasted text has a message of the scheduler and is no object. */
function isMessage(text) {
  return /\b0\/\d+ nodes are available/.test(text) && !/^\s*(\{|\[|kind:)/m.test(text);
}

function explain(text) {
  const field = document.getElementById("message-text");
  if (!field) return;
  field.value = text;
  field.form.requestSubmit();
}

zone.addEventListener("submit", (event) => {
  event.preventDefault();
  upload();
});

/** Send the files, show the progress of upload and parsing, then open the scenario or show the error. */
function upload() {
  const token = [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const body = new FormData(zone);
  body.append("progress", token);
  lock(true);
  zone.querySelector("[role=alert]")?.remove();
  bar.hidden = false;
  say("Sending …");

  const request = new XMLHttpRequest();
  let asking = 0;
  request.open("POST", zone.action);
  request.upload.addEventListener("progress", ({ loaded, total }) => say("Sending", loaded, total));
  request.upload.addEventListener("load", () => {
    say("Waiting for the server …");
    asking = setInterval(async () => {
      const response = await fetch(`${zone.action}${token}/`).catch(() => null);
      const { done, size, objects, ahead } = response?.ok ? await response.json() : {};
      if (!asking) return;
      if (ahead) say(`Waiting for a worker: ${ahead === 1 ? "1 upload is" : `${ahead} uploads are`} before yours …`);
      if (!size) return;
      if (done < size) say("Reading", done, size, objects);
      else say(`Storing ${objects.toLocaleString("en")} objects …`);
    }, 500);
  });
  request.addEventListener("loadend", () => {
    clearInterval(asking);
    asking = 0;
    if (request.getResponseHeader("X-Evidence")) {
      lock(false);
      zone.submit(); // the page of a file that is not stored has no address
    } else if (request.status && request.status < 400) {
      say("Opening …");
      location.assign(request.responseURL);
    } else refuse(request);
  });
  request.send(body);
}

/** @param {string} what @param {number} [done] @param {number} [size] @param {number} [objects] */
function say(what, done, size, objects) {
  if (size === undefined) {
    bar.removeAttribute("value");
    status.textContent = what;
    return;
  }
  bar.value = done / size;
  const seen = objects ? `, ${objects.toLocaleString("en")} objects` : "";
  status.textContent = `${what}: ${megabytes(done)} of ${megabytes(size)} MB${seen}`;
}

function lock(on) {
  for (const control of zone.querySelectorAll("button, input")) control.disabled = on;
}

const megabytes = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(1);

/** Show the reason from the response: an error page or JSON. @param {XMLHttpRequest} request */
function refuse(request) {
  const sentence = request.getResponseHeader("Content-Type")?.includes("json");
  const page = new DOMParser().parseFromString(sentence ? "" : request.responseText, "text/html");
  const why = sentence
    ? { textContent: JSON.parse(request.responseText).error }
    : (page.querySelector("[role=alert]") ?? page.querySelector("main"));
  const text = why?.textContent ?? "The upload failed because the connection was lost. Try again.";
  zone.append(el("p", { class: "notice bad wrap", role: "alert", text }));
  bar.hidden = true;
  status.textContent = "";
  lock(false);
  input.value = "";
}
