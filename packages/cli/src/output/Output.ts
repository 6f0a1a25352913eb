/**
 * The output of a command: data to stdout, everything else to stderr, so that a pipe gets only data.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { coloured, isColoured, plain, printable, printableJson, type Style } from "./Style.ts"
import { type Column, tableText } from "./Table.ts"

export interface OutputService {
  /** Whether data is printed as JSON. */
  readonly isJson: boolean
  /** Whether stderr is a terminal, where a line can be overwritten. */
  readonly isWatched: boolean
  /** Whether the user can be asked. */
  readonly canAsk: boolean
  /** Whether the user confirms every question in advance. */
  readonly isAgreed: boolean
  /** The style of stdout. */
  readonly style: Style
  /** The style of stderr. */
  readonly noteStyle: Style
  /** Writes text unchanged to stdout. Waits while the reader is slow. */
  readonly write: (text: string) => Effect.Effect<void>
  /** Writes text to stdout, without control characters. */
  readonly text: (text: string) => Effect.Effect<void>
  /** Writes bytes unchanged to stdout. */
  readonly writeBytes: (bytes: Uint8Array) => Effect.Effect<void>
  /** Writes a value as a JSON line, or as the text. */
  readonly value: (value: unknown, text: () => string) => Effect.Effect<void>
  /** Writes rows as JSON lines, or as a table. */
  readonly rows: <A extends object>(rows: ReadonlyArray<A>, columns: ReadonlyArray<Column<A>>, none: string) => Effect.Effect<void>
  /** Writes a line to stderr. */
  readonly note: (text: string) => Effect.Effect<void>
  /** Replaces the current line on stderr. */
  readonly redraw: (text: string) => Effect.Effect<void>
}

/** Erases the current line of a terminal, such as one that {@link OutputService.redraw} has written. */
export const eraseLine = "\r\x1b[2K"

export interface OutputOptions {
  readonly json: boolean
  readonly "no-color": boolean
  readonly "no-input": boolean
  readonly yes: boolean
}

export class Output extends Context.Service<Output, OutputService>()("@detent/cli/Output") {
  static readonly layer = (options: OutputOptions): Layer.Layer<Output> => Layer.sync(Output, () => make(options))
}

const make = (options: OutputOptions): OutputService => {
  const { stdout, stderr, stdin } = process
  const style = isColoured(stdout, options["no-color"]) ? coloured : plain
  const noteStyle = isColoured(stderr, options["no-color"]) ? coloured : plain
  const write = (text: string) => writing(stdout, text)
  return {
    isJson: options.json,
    isWatched: stderr.isTTY === true && process.env["TERM"] !== "dumb",
    canAsk: stdin.isTTY === true && stderr.isTTY === true && !options["no-input"],
    isAgreed: options.yes,
    style,
    noteStyle,
    write,
    text: (text) => write(printable(text)),
    writeBytes: (bytes) => writing(stdout, bytes),
    value: (value, text) => write(options.json ? `${printableJson(value)}\n` : printable(text())),
    rows: (rows, columns, none) => {
      if (options.json) return write(rows.map((row) => `${printableJson(row)}\n`).join(""))
      return rows.length === 0 ? writing(stderr, `${printable(none)}\n`) : write(printable(tableText(rows, columns, style)))
    },
    note: (text) => writing(stderr, `${printable(text)}\n`),
    redraw: (text) => writing(stderr, `${eraseLine}${printable(text)}`),
  }
}

/** Drops output to a closed pipe: `main` ends the process then. */
const writing = (stream: NodeJS.WriteStream, text: string | Uint8Array): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (text.length === 0 || stream.destroyed) return resume(Effect.void)
    stream.write(text, () => resume(Effect.void))
  })
