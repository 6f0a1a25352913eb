/** The text of HTML, without its markup. */

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

/** Removes tags and decodes entities. Every step is linear in the length of the text, for any content. */
export const plainText = (html: string): string => {
  if (!html.includes("<") && !html.includes("&")) return html
  return withoutTags(html).replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{1,8}));/g, (entity, decimal, hexadecimal, name) => {
    if (name !== undefined) return named[name] ?? entity
    const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : " "
  })
}

/**
 * Replaces each tag, from `<` to the next `>`, by a space. A pattern such as `<[^>]*>` would search to the end for a missing `>` once
 * for every `<`: 300 kB of `<` would take minutes.
 */
const withoutTags = (html: string): string => {
  let text = ""
  let from = 0
  for (;;) {
    const start = html.indexOf("<", from)
    const end = start < 0 ? -1 : html.indexOf(">", start)
    if (end < 0) return text + html.slice(from)
    text += `${html.slice(from, start)} `
    from = end + 1
  }
}
