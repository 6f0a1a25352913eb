/** Colours for a terminal. `plain` leaves the text unchanged. */

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const code = (number: number) => (text: string) => `\x1b[${number}m${text}\x1b[0m`

export const coloured: Style = { bold: code(1), dim: code(2), red: code(31), green: code(32), yellow: code(33), cyan: code(36) }

const unchanged = (text: string) => text

export const plain: Style = {
  bold: unchanged,
  dim: unchanged,
  red: unchanged,
  green: unchanged,
  yellow: unchanged,
  cyan: unchanged,
}
