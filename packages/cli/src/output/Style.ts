/** Text for a terminal: with colours where they are on, and without other control codes. */
import { randomUUID } from "node:crypto"

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

/** A random placeholder for the escape character of a colour code until the text is printed. Stored text cannot contain it. */
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

/** Colours are off with a non-empty `NO_COLOR`, as no-color.org defines it, and in a terminal without colours. */
export const isColoured = (stream: { readonly isTTY?: boolean }, noColor: boolean): boolean =>
  stream.isTTY === true && !noColor && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb"

/**
 * Text in one line: each run of control characters, and of marks that reorder the text around them, becomes a space. So stored text can
 * neither move the cursor, nor set the title of a terminal, nor disguise the text around it.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, " ")

const marked = new RegExp(`${mark}(\\d{1,2})m`, "g")

/** The text to print: with its line ends and the colours of a style, and without other control characters. */
export const printable = (text: string): string =>
  text
    .replace(/(\n)|[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (_, kept: string | undefined) => kept ?? " ")
    .replace(marked, "\x1b[$1m")

/** JSON for a terminal. `JSON.stringify` escapes most control characters; this also escapes the others. */
export const printableJson = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(
    /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
