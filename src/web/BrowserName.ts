// A short name for a browser, read from how it describes itself. Most name others too, so the order decides; what these rules
// do not know is shown as it came.
const browsers: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bEdg(?:A|iOS)?\//u, "Edge"],
  [/\bOPR\//u, "Opera"],
  [/\bSamsungBrowser\//u, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//u, "Firefox"],
  // Chrome, and whatever describes itself as Chrome does.
  [/\b(?:Chrome|CriOS|Chromium|HeadlessChrome)\//u, "Chromium"],
  [/\bVersion\/.*\bSafari\//u, "Safari"]
]

const systems: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bAndroid\b/u, "Android"],
  [/\b(?:iPhone|iPad|iPod)\b/u, "iOS"],
  [/\bWindows\b/u, "Windows"],
  [/\bCrOS\b/u, "ChromeOS"],
  [/\bMacintosh\b/u, "macOS"],
  [/\bLinux\b/u, "Linux"]
]

const firstOf = (rules: ReadonlyArray<readonly [RegExp, string]>, text: string): string | null =>
  rules.find(([pattern]) => pattern.test(text))?.[1] ?? null

/** `Firefox on Linux`; null where browser or system is not known. */
export const browserName = (described: string): string | null => {
  const browser = firstOf(browsers, described)
  const system = firstOf(systems, described)
  return browser === null || system === null ? null : `${browser} on ${system}`
}
