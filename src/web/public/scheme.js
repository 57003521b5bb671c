// Sets the chosen colour scheme before the first paint. A file of its own: the page allows no script within itself.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem("mantine-color-scheme-value")
  } catch {
    // No storage: the system decides.
  }
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches)
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light")
})()
