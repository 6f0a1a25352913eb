/**
 * One statement on a connection of node-postgres, by the interface that its cursors use too. Differs from its own queries in three ways:
 * parameters have types, a prepared statement is described once and not at every execution, and rows are read without a Result.
 */
import pg from "pg"
import { AnswerUnreadable } from "./PgFailure.ts"
import type { Encoded } from "./PgParameters.ts"

export type Row = Record<string, unknown>

/** A statement that the server has under a name. Its columns are known after its first execution. */
export interface Prepared {
  readonly name: string
  readonly text: string
  readonly oids: ReadonlyArray<number>
  columns: Columns | undefined
  /** False when the connection closes the name: no later statement may use it. */
  isKept: boolean
}

interface Columns {
  readonly names: ReadonlyArray<string>
  readonly parsers: ReadonlyArray<(text: string) => unknown>
  /** Bytes come as hex, two characters each. */
  readonly widths: ReadonlyArray<number>
}

const noColumns: Columns = { names: [], parsers: [], widths: [] }

/** The part of node-postgres's connection that a statement needs. */
export interface Wire {
  once(event: "readyForQuery", listener: () => void): void
  readonly stream: {
    cork(): void
    uncork(): void
    destroy(): void
    once(event: "data", listener: (chunk: Uint8Array) => void): void
  }
  parse(message: { name: string; text: string; types: ReadonlyArray<number> }): void
  bind(message: { portal: string; statement: string; values: ReadonlyArray<Encoded> }): void
  describe(message: { type: "P"; name: string }): void
  execute(message: object): void
  close(message: { type: "S"; name: string }): void
  sync(): void
}

const bytea = 17
const int8 = 20
const int8Array = 1016

const parserOf = (oid: number): ((text: string) => unknown) => {
  if (oid === int8) return BigInt
  const parse = pg.types.getTypeParser(oid) as (text: string) => unknown
  return oid === int8Array ? (text) => (parse(text) as ReadonlyArray<string>).map((each) => (each === null ? null : BigInt(each))) : parse
}

export interface StatementInput {
  readonly text: string
  readonly oids: ReadonlyArray<number>
  readonly values: ReadonlyArray<Encoded>
  /** Undefined: it is parsed for this execution alone. */
  readonly prepared: Prepared | undefined
  /** The names of statements that the connection no longer keeps. The next statement that is sent closes them. */
  readonly forgotten: Array<string>
  readonly asArrays: boolean
  /** The longest row that is read, in characters. */
  readonly longest: number
}

export class PgStatement {
  readonly #input: StatementInput
  readonly #onEnd: (error: unknown) => void
  /** Called after that, when it is to be known that the connection no longer works for it. */
  onSettled: () => void = () => {}
  #prepared: Prepared | undefined
  #columns: Columns = noColumns
  #problem: unknown
  isEnded = false
  rows: Array<Row | ReadonlyArray<unknown>> = []
  command = ""
  rowCount = 0

  constructor(input: StatementInput, onEnd: (error: unknown) => void) {
    this.#input = input
    this.#onEnd = onEnd
  }

  /** What an equal statement before this one has prepared, or failed to, is known only now: this one may have waited for its turn. */
  submit(wire: Wire): Error | null {
    const { text, oids, values, forgotten } = this.#input
    const prepared = this.#input.prepared?.isKept === true ? this.#input.prepared : undefined
    this.#prepared = prepared
    this.#columns = prepared?.columns ?? noColumns
    const name = prepared?.name ?? ""
    wire.stream.cork()
    try {
      for (const each of forgotten.splice(0)) wire.close({ type: "S", name: each })
      if (prepared?.columns === undefined) wire.parse({ name, text, types: oids })
      wire.bind({ portal: "", statement: name, values })
      if (prepared?.columns === undefined) wire.describe({ type: "P", name: "" })
      wire.execute({})
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  handleRowDescription({ fields }: { readonly fields: ReadonlyArray<{ readonly name: string; readonly dataTypeID: number }> }): void {
    this.#columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => parserOf(dataTypeID)),
      widths: fields.map(({ dataTypeID }) => (dataTypeID === bytea ? 2 : 1)),
    }
  }

  handleDataRow({ fields }: { readonly fields: ReadonlyArray<string | null> }): void {
    const { names, parsers, widths } = this.#columns
    try {
      if (lengthOf(fields, widths) > this.#input.longest)
        throw new AnswerUnreadable(`a row is longer than the ${this.#input.longest} characters that the client reads`)
      const values = fields.map((text, index) => (text === null ? null : parsers[index]?.(text)))
      this.rows.push(this.#input.asArrays ? values : rowOf(names, values))
    } catch (cause) {
      this.#problem ??= cause instanceof AnswerUnreadable ? cause : new AnswerUnreadable("a value cannot be decoded", { cause })
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const words = text.split(" ")
    this.command = words[0] ?? ""
    this.rowCount = Number(words.at(-1)) || 0
  }

  handleReadyForQuery(): void {
    if (this.#prepared !== undefined) this.#prepared.columns ??= this.#columns
    this.#end(this.#problem)
  }

  /** After an error of the server, the connection is free when the server says so: until then its state of transaction is the former one. */
  handleError(error: unknown, wire: Wire): void {
    this.#problem = error
    if (error instanceof pg.DatabaseError) wire.once("readyForQuery", () => this.#end(error))
    else this.#end(error)
  }

  /** The connection has ended. What the server has said before is the better reason. */
  abandon(cause: unknown): void {
    this.#end(this.#problem ?? cause)
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}

  handleCopyInResponse(wire: { sendCopyFail(message: string): void }): void {
    wire.sendCopyFail("this client does not copy")
  }

  #end(error: unknown): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#onEnd(error)
    this.onSettled()
  }
}

const lengthOf = (fields: ReadonlyArray<string | null>, widths: ReadonlyArray<number>): number => {
  let length = 0
  for (let index = 0; index < fields.length; index++) length += (fields[index]?.length ?? 0) / (widths[index] ?? 1)
  return length
}

const rowOf = (names: ReadonlyArray<string>, values: ReadonlyArray<unknown>): Row => {
  const row: Row = {}
  for (let index = 0; index < names.length; index++) row[names[index] as string] = values[index]
  return row
}
