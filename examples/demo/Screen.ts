/** What the demo prints: lines, and one line that is redrawn in place on a terminal. */
import { coloured, plain, type Style } from "../orders/Style.ts"

const out = process.stdout
const isTerminal = out.isTTY === true && process.env["TERM"] !== "dumb"

export const style: Style = isTerminal && !process.env["NO_COLOR"] ? coloured : plain

export const say = (text = ""): void => void out.write(`${text}\n`)

export const title = (number: number, text: string): void => say(`\n${style.bold(`${number}. ${text}`)}`)

/** A line about one instance: what it does, and an explanation. */
export const row = (subject: string, text: string, explanation = ""): void =>
  say(`   ${subject.padEnd(9)} ${explanation === "" ? text : text.padEnd(38)} ${style.dim(explanation)}`.trimEnd())

const width = 30
let stage = ""

/** On a terminal a bar that is redrawn; elsewhere one line for each stage. */
export const showProgress = (name: string, percent: number, text: string): void => {
  if (isTerminal) {
    const filled = Math.round((percent / 100) * width)
    const bar = `${style.green("█".repeat(filled))}${style.dim("░".repeat(width - filled))}`
    const words = `${name.padEnd(12)} ${String(percent).padStart(3)}%  ${text}`
    out.write(`\r\x1b[2K   ${bar} ${words.slice(0, Math.max(0, (out.columns || 80) - width - 5))}`)
  } else if (stage !== name) out.write(`   ${name}, ${percent}%\n`)
  stage = name
}

export const endProgress = (): void => {
  if (isTerminal) out.write("\n")
}
