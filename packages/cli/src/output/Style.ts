/** Terminal text: colours, where they are on, and no codes that move the cursor. */
import { randomUUID } from "node:crypto"

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

/** Stands for the beginning of a colour until the text is printed. No stored text can hold it, as it can hold the code of a colour. */
const mark = randomUUID()

const code = (open: number, close: number) => (text: string) => `${mark}${open}m${text}${mark}${close}m`

export const coloured: Style = {
  bold: code(1, 22),
  dim: code(2, 22),
  red: code(31, 39),
  green: code(32, 39),
  yellow: code(33, 39),
  cyan: code(36, 39),
}

const same = (text: string) => text

export const plain: Style = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }

/** `NO_COLOR` with any content turns colours off, as no-color.org has it; so does a terminal that knows none. */
export const isColoured = (stream: { readonly isTTY?: boolean }, noColor: boolean): boolean =>
  stream.isTTY === true && !noColor && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb"

/**
 * In one line: each run of control characters, and of marks that reorder the text around them, becomes a space. A stored text can
 * neither move the cursor or set the title of a terminal nor disguise its neighbours.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, " ")

const marked = new RegExp(`${mark}(\\d{1,2})m`, "g")

/** The text as it is printed: with its line ends and the colours of a style, and without other control characters. */
export const printable = (text: string): string =>
  text
    .replace(/(\n)|[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (_, kept: string | undefined) => kept ?? " ")
    .replace(marked, "\x1b[$1m")

/** JSON escapes most control characters by itself. These it leaves as they are. */
export const printableJson = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(
    /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
