// Markdown as Matrix's HTML: no raw HTML, no images fetched from anywhere, links of safe kinds alone, and no attribute that
// is not on the list.
import MarkdownIt from "markdown-it"

const safeLink = /^(?:https?:\/\/|mailto:|matrix:)/iu

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true })

markdown.validateLink = (url) => safeLink.test(url.trim())
// A link without a scheme is none that anyone wrote: file names like `main.rs` would become addresses.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })

const escaped = markdown.utils.escapeHtml

/** Everything else is left out, whichever rule of the renderer sets it. */
const attributes: Readonly<Record<string, (value: string) => boolean>> = {
  href: (value) => safeLink.test(value),
  class: (value) => /^language-[A-Za-z0-9_+#.-]{1,40}$/u.test(value),
  start: (value) => /^\d{1,9}$/u.test(value)
}
markdown.renderer.renderAttrs = (token) =>
  (token.attrs ?? []).flatMap(([name, value]) =>
    attributes[name]?.(String(value)) === true ? [` ${name}="${escaped(String(value))}"`] : []
  ).join("")

// An image would be fetched by whoever reads: its address becomes a link, which somebody has to follow. A link inside of a
// link is none.
markdown.renderer.rules["image"] = (tokens, index) => {
  const token = tokens[index]
  const address = String(token?.attrGet("src") ?? "")
  const label = escaped(token?.content === "" ? address : token?.content ?? "")
  const depth = tokens.slice(0, index).reduce(
    (open, { type }) => open + (type === "link_open" ? 1 : type === "link_close" ? -1 : 0),
    0
  )
  return depth > 0 || !safeLink.test(address) ? label : `<a href="${escaped(address)}">${label}</a>`
}

/** Null where the text says the same without markup. */
export const toHtml = (text: string): string | null => {
  const html = markdown.render(text).trimEnd()
  return html === `<p>${escaped(text.trim())}</p>` ? null : html
}
