// Loaded before the first paint, so that the page does not flash in the wrong theme.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  /* storage may be unavailable; then the system setting applies */
}

// The API documentation uses a class for its dark theme.
const chosen = document.documentElement.dataset.theme;
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.toggle("dark-mode", dark);
