// Loaded before the first paint so that the page never flashes in the wrong colours.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  /* storage may be closed to us; the system's choice holds then */
}

// The API's documentation has a dark look of its own, by a class.
const chosen = document.documentElement.dataset.theme;
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.toggle("dark-mode", dark);
