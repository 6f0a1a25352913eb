/** What of an item people search for: its title and text without markup. */
import type { HNItem } from "./HNItem.ts"

const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

/** Most texts have no markup, or only paragraphs. */
export const plainText = (html: string): string => {
  if (!html.includes("<") && !html.includes("&")) return html
  return html
    .replace(/<[^>]*>/g, " ")
    .replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{1,8}));/g, (entity, decimal, hexadecimal, name) => {
      if (name !== undefined) return named[name] ?? entity
      const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : " "
    })
}

export const searchText = ({ title, text }: HNItem): string => {
  if (title === undefined) return text === undefined ? "" : plainText(text)
  return text === undefined ? plainText(title) : `${plainText(title)} ${plainText(text)}`
}
