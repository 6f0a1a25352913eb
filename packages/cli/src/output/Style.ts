/** Colours, where they are wanted. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const code = (open: number, close: number) => (text: string) => `\x1b[${open}m${text}\x1b[${close}m`

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
