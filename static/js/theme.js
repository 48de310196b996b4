// Loaded before the first paint so that the page never flashes in the wrong colours.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  /* storage may be closed to us; the system's choice holds then */
}
