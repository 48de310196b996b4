// Prints the page: a button for it. What is folded is printed as well, and with dark text on light paper.
const button = document.querySelector("[data-print]");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

let opened = [];
let theme;
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")];
  for (const one of opened) one.open = true;
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
});
