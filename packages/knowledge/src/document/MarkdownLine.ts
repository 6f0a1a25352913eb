/** The words of a line of Markdown, without emphasis, addresses of links and other marks. */
import type { Cell, CellPart } from "./Records.ts"

/**
 * What is not text, or stands for other text: each alternative has its group. How far each looks ahead is bounded, so that a line
 * of marks that nothing closes is read in a time that grows with its length.
 */
const marks = new RegExp(
  [
    "(?<escaped>\\\\[!-/:-@[-`{-~])",
    "(?<code>`{1,8}(?!`))(?<codeText>.{1,1000}?)(?<!`)\\k<code>(?!`)",
    "!?\\[(?<label>(?:[^\\[\\]\\\\]|\\\\.){0,1000})\\](?:\\([^()\\s]{0,2000}(?:\\([^()]{0,500}\\)[^()\\s]{0,500})?(?:\\s{1,20}[\"'(][^)]{0,500})?\\)|\\[[^\\]]{0,500}\\])",
    "<(?<address>https?://[^>\\s]{1,2000}|[^>\\s@]{1,100}@[^>\\s]{1,300})>",
    "(?<tag></?[A-Za-z][^<>]{0,2000}>|<!--.{0,2000}?-->)",
    "(?<emphasis>\\*{1,3}(?=\\S)|(?<=\\S)\\*{1,3}|~~|(?<![\\p{L}\\p{N}_])_{1,3}(?=\\S)|(?<=\\S)_{1,3}(?![\\p{L}\\p{N}_]))",
  ].join("|"),
  "gu",
)

export const inlineParts = (line: string, start: number): Cell => {
  const parts: Array<CellPart> = []
  const keep = (from: number, to: number) => {
    if (to > from) parts.push({ text: line.slice(from, to), place: { _tag: "Characters", start: start + from, end: start + to } })
  }
  let done = 0
  for (const match of line.matchAll(marks)) {
    keep(done, match.index)
    done = match.index + match[0].length
    const groups = match.groups ?? {}
    if (groups["escaped"] !== undefined) keep(match.index + 1, done)
    const code = groups["code"]
    if (code !== undefined) keep(match.index + code.length, done - code.length)
    if (groups["address"] !== undefined) keep(match.index + 1, done - 1)
    const label = groups["label"]
    // The words of a link may hold marks of their own.
    if (label !== undefined) parts.push(...inlineParts(label, start + match.index + match[0].indexOf("[") + 1))
  }
  keep(done, line.length)
  return parts
}
