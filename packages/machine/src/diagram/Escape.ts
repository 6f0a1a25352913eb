/**
 * Names in diagrams come from user code and may hold anything. Each function here makes a text safe for one
 * notation; `cut` comes first, so that an escape sequence is never cut in two.
 */

/** The longest name shown in full. */
export const longest = 40

// Characters that no notation can show: control characters, halves of surrogate pairs, non-characters, and the marks that reorder
// the text around them, with which a name could disguise its neighbours.
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/gu

/** The text on one line, without characters that cannot be shown. A text without visible characters becomes `␣`. */
export const clean = (text: string): string => {
  const shown = text.replace(/\s+/gu, " ").replace(unprintable, "\ufffd").trim()
  return shown === "" ? "␣" : shown
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })

/** A clean text of at most `length` characters as a reader counts them; `…` stands for the rest. */
export const cut = (text: string, length: number = longest): string => {
  const shown = clean(text)
  if (shown.length <= length) return shown
  const parts = Array.from(graphemes.segment(shown), (part) => part.segment)
  // One "character" can be arbitrarily long (stacked accents), so code units are bounded too.
  if (parts.length <= length) return shown.length <= length * 4 ? shown : `${sound(shown.slice(0, length * 4))}…`
  return `${sound(
    parts
      .slice(0, length - 1)
      .join("")
      .slice(0, length * 4),
  ).trimEnd()}…`
}

// Slicing by code units may have split a surrogate pair.
const sound = (text: string): string => text.replace(/[\ud800-\udbff]$/, "")

// Characters that end a label, start markup, or are Mermaid's own placeholders for entities. A lone bracket or dash is
// plain text, a pair of them is not. A line with `direction LR` in it is a statement to the lexers even inside quotes,
// and Markdown makes a list of a text that starts like one.
const meaningful =
  /direction(?=\s)|[#;:"'`<>&{}%\\|~*^$@=¶ﬂ]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[-+]|-(?=-)|(?<=-)-|\[(?=\[)|(?<=\[)\[|\](?=\])|(?<=\])\]/gi

/** Text for a quoted or free Mermaid label, with entity codes for characters with a meaning in Mermaid. */
export const mermaid = (text: string): string =>
  clean(text)
    .replace(meaningful, (found) => code(found[0] ?? "") + found.slice(1))
    .replace(/^\d+\./, (found) => found.slice(0, -1) + code("."))

const named: { readonly [character: string]: string } = { '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;" }

const code = (character: string): string => named[character] ?? `#${character.codePointAt(0)};`

/** Text inside a quoted DOT string. Backslashes and entities have a meaning in Graphviz labels. */
export const dot = (text: string): string =>
  xml(text)
    .replace(/\\/g, "\\\\")
    .replace(/&quot;/g, '\\"')

/**
 * Text inside one of Graphviz's HTML-like labels. `\N` would become the name of the node, and older versions stumble
 * over a lone closing bracket.
 */
export const dotLabel = (text: string): string => xml(text).replace(/[\\\]]/g, (character) => `&#${character.codePointAt(0)};`)

/** Text inside an XML element or a double-quoted attribute. */
export const xml = (text: string): string =>
  clean(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;")

/** Text inside Markdown, also inside a table cell. */
export const markdown = (text: string): string =>
  clean(text)
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/[\\`*_[\]|~#!$@]/g, (character, at: number, all: string) =>
      // Inside a word an underscore is not emphasis, and a number sign or exclamation mark counts only in its place.
      (character === "_" && /\w/.test(all[at - 1] ?? "") && /\w/.test(all[at + 1] ?? "")) ||
      (character === "#" && at > 0) ||
      (character === "!" && all[at + 1] !== "[") ||
      character === "@"
        ? character
        : `\\${character}`,
    )
    .replace(/^([-+]|\d+[.)])(?=\s|$)/, (marker) => `${marker.slice(0, -1)}\\${marker.slice(-1)}`)
