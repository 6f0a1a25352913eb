/** Parses headings, links, code blocks and tables of Markdown, as far as the document checks need them. */

/**
 * The anchor of a heading, by GitHub's rules. The site uses the same, so that a link works in both.
 *
 * @param {string} heading
 * @returns {string}
 */
export function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .replaceAll(/\s/g, "-")
}

/**
 * The anchors of a document. A heading that occurs again gets a number, as on GitHub.
 *
 * @param {string} text
 * @returns {ReadonlySet<string>}
 */
export function anchorsOf(text) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  const anchors = new Set()
  for (const { content } of proseLines(text)) {
    const heading = /^#{1,6} (.*)$/.exec(content)?.[1]
    const explicit = content.matchAll(/<a (?:id|name)="([^"]+)"/g)
    for (const [, id = ""] of explicit) anchors.add(id)
    if (heading === undefined) continue
    const base = slug(plainText(heading))
    const count = counts.get(base) ?? 0
    counts.set(base, count + 1)
    anchors.add(count === 0 ? base : `${base}-${count}`)
  }
  return anchors
}

/**
 * Links and pictures, but no addresses of other sites.
 *
 * @param {string} text
 * @returns {ReadonlyArray<{ readonly line: number, readonly target: string }>}
 */
export function linksOf(text) {
  return proseLines(text).flatMap(({ number, content }) => {
    const withoutCode = content.replaceAll(/`[^`]*`/g, "``")
    const found = [...withoutCode.matchAll(/\]\(([^()\s]+)\)|(?:src|href)="([^"]+)"|^\[[^\]]+\]: (\S+)/g)]
    return found
      .map(([, link, attribute, definition]) => link ?? attribute ?? definition ?? "")
      .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target))
      .map((target) => ({ line: number, target }))
  })
}

/**
 * Fenced blocks with the comment right above them.
 *
 * @typedef {{ readonly line: number, readonly language: string, readonly comment: string | undefined, readonly content: string }} Block
 *
 * @param {string} text
 * @returns {ReadonlyArray<Block>}
 */
export function blocksOf(text) {
  const lines = text.split("\n")
  /** @type {Array<Block>} */
  const blocks = []
  for (let index = 0; index < lines.length; index++) {
    const language = /^```([\w-]*)/.exec(lines[index] ?? "")?.[1]
    if (language === undefined) continue
    const end = lines.indexOf("```", index + 1)
    if (end < 0) throw new Error(`line ${index + 1}: this block does not end; close it with \`\`\``)
    const comment = /^<!-- (.*) -->$/.exec(lines.slice(0, index).findLast((line) => line.trim() !== "") ?? "")?.[1]
    blocks.push({ line: index + 1, language, comment, content: lines.slice(index + 1, end).join("\n") })
    index = end
  }
  return blocks
}

/**
 * The lines outside of code blocks.
 *
 * @param {string} text
 * @returns {ReadonlyArray<{ readonly number: number, readonly content: string }>}
 */
export function proseLines(text) {
  let fence = ""
  return text.split("\n").flatMap((content, index) => {
    const mark = /^\s*(```+|~~~+)/.exec(content)?.[1] ?? ""
    if (fence === "" && mark !== "") fence = mark
    else if (fence !== "" && mark.startsWith(fence)) fence = ""
    else if (fence === "") return [{ number: index + 1, content }]
    return []
  })
}

/**
 * Without links, emphasis and code marks.
 *
 * @param {string} text
 */
function plainText(text) {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "")
}
