/** Lines of a terminal as an SVG: text with a fixed width, which can be selected and looks the same in every viewer. */
import type { Line, Run } from "./Screen.ts"

const colours: ReadonlyMap<number, string> = new Map([
  [31, "#f47067"],
  [32, "#57ab5a"],
  [33, "#c69026"],
  [36, "#39c5cf"],
])

const size = { column: 8.4, row: 20, margin: 18, top: 44 }

export const terminalSvg = (title: string, lines: ReadonlyArray<Line>, columns: number): string => {
  const width = Math.ceil(columns * size.column + 2 * size.margin)
  const height = lines.length * size.row + size.top + size.margin
  const dots = ["#f47067", "#c69026", "#57ab5a"].map((fill, index) => `<circle cx="${22 + index * 20}" cy="20" r="6" fill="${fill}"/>`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img"`,
    `  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#22272e"/>`,
    ...dots,
    ...lines.map((line, index) => drawLine(line, size.top + (index + 1) * size.row - 6)),
    "</svg>",
    "",
  ].join("\n")
}

const drawLine = (line: Line, y: number): string => {
  let column = 0
  const runs = line.map((run) => {
    const x = size.margin + column * size.column
    column += [...run.text].length
    return drawRun(run, x)
  })
  return `<text y="${y}" fill="#cdd9e5" xml:space="preserve">${runs.join("")}</text>`
}

/** Sets the length, so that a font of another width does not shift the columns. */
const drawRun = ({ text, codes }: Run, x: number): string => {
  const colour = [...codes].map((code) => colours.get(code)).find((one) => one !== undefined) ?? (codes.has(2) ? "#768390" : undefined)
  const looks = [colour === undefined ? "" : ` fill="${colour}"`, codes.has(1) ? ' font-weight="bold"' : ""].join("")
  const length = ([...text].length * size.column).toFixed(1)
  return `<tspan x="${x.toFixed(1)}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${looks}>${escaped(text)}</tspan>`
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
