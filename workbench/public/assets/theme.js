// Before anything is drawn: the colours that were chosen here, if any were.
try {
  const theme = localStorage.getItem("sparkleene-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // without storage the system's colours are taken
}
