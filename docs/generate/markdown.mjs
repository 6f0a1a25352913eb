/** Pieces of generated pages. */

export const generatedNote = (/** @type {string} */ source) => `This page is generated from ${source}.`

/**
 * Text that may hold anything, in a cell of a table or a paragraph of the site: the site reads angle brackets as tags and double braces
 * as expressions.
 *
 * @param {string} text
 */
export function escaped(text) {
  const outside = (/** @type {string} */ part) => part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;")
  const pieces = text.split(/(`[^`]*`)/)
  return pieces
    .map((piece) => (piece.startsWith("`") ? piece : outside(piece)))
    .join("")
    .replaceAll("|", "\\|")
    .replaceAll(/\s*\n\s*/g, " ")
}

/**
 * @param {ReadonlyArray<string>} heads
 * @param {ReadonlyArray<ReadonlyArray<string>>} rows
 */
export function table(heads, rows) {
  if (rows.length === 0) return ""
  const line = (/** @type {ReadonlyArray<string>} */ cells) => `| ${cells.join(" | ")} |`
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n")
}

/** @param {ReadonlyArray<string>} parts */
export function document(parts) {
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`
}

/** @param {string} text */
export function sentence(text) {
  // A word such as `sqlite:PATH` stays as it is.
  const first = /^[a-z]+[\s,;.]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return /[.!?]$/.test(first) ? first : `${first}.`
}
