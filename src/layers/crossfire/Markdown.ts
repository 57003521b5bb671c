// Markdown as Matrix's HTML: no raw HTML, no images fetched from anywhere, links of safe kinds alone.
import MarkdownIt from "markdown-it"

const safeLink = /^(?:https?:\/\/|mailto:|matrix:)/iu

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true })

markdown.validateLink = (url) => safeLink.test(url.trim())
// A link without a scheme is none that anyone wrote: file names like `main.rs` would become addresses.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
markdown.renderer.rules["image"] = (tokens, index) => {
  const token = tokens[index]
  const address = String(token?.attrGet("src") ?? "")
  const label = markdown.utils.escapeHtml(token?.content === "" ? address : token?.content ?? "")
  return address === "" ? label : `<a href="${markdown.utils.escapeHtml(address)}">${label}</a>`
}

/** Null where the text says the same without markup. */
export const toHtml = (text: string): string | null => {
  const html = markdown.render(text).trimEnd()
  return html === `<p>${markdown.utils.escapeHtml(text.trim())}</p>` ? null : html
}
