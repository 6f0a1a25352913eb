/** Reads the cells of one row of CSV text. */

export const newline = 10
export const carriageReturn = 13

/** The row needs more text. */
export const incomplete = -1
/** A quote of the row is broken. */
export const broken = -2

export class CsvCells {
  readonly #delimiter: number
  readonly #quote: number
  readonly #quoteText: string
  readonly #most: number
  /** The cells of the row that was read last, up to the limit. */
  cells: Array<string> = []
  /** Whether one of them is quoted. */
  isQuoted = false
  /** What is wrong with the quote of a broken row. */
  problem = ""

  constructor(delimiter: string, quote: string, most: number) {
    this.#delimiter = delimiter.charCodeAt(0)
    this.#quote = quote.charCodeAt(0)
    this.#quoteText = quote
    this.#most = most
  }

  /** Reads the row that begins here. Returns where the next row begins, `incomplete` or `broken`. */
  read(text: string, start: number, isLast: boolean): number {
    this.cells = []
    this.isQuoted = false
    let at = start
    for (;;) {
      if (at < text.length && text.charCodeAt(at) === this.#quote) {
        at = this.#readQuoted(text, at + 1, isLast)
        if (at < 0) return at
      } else {
        let end = at
        for (; end < text.length; end++) {
          const code = text.charCodeAt(end)
          if (code === this.#delimiter || code === newline || code === carriageReturn) break
        }
        if (end === text.length && !isLast) return incomplete
        this.#add(text.slice(at, end))
        at = end
      }
      if (at === text.length) return isLast ? at : incomplete
      const code = text.charCodeAt(at)
      if (code === newline) return at + 1
      if (code === carriageReturn) {
        if (at + 1 === text.length && !isLast) return incomplete
        return text.charCodeAt(at + 1) === newline ? at + 2 : at + 1
      }
      if (code !== this.#delimiter) {
        this.problem = "is followed by more text"
        return broken
      }
      at++
    }
  }

  /** Reads a cell from behind its quote. Returns where it ends. */
  #readQuoted(text: string, start: number, isLast: boolean): number {
    this.isQuoted = true
    let from = start
    let cell = ""
    for (;;) {
      const at = text.indexOf(this.#quoteText, from)
      if (at < 0) {
        this.problem = "is never closed"
        return isLast ? broken : incomplete
      }
      if (at + 1 === text.length && !isLast) return incomplete
      if (text.charCodeAt(at + 1) !== this.#quote) {
        this.#add(from === start ? text.slice(start, at) : cell + text.slice(from, at))
        return at + 1
      }
      cell += text.slice(from, at + 1)
      from = at + 2
    }
  }

  #add(cell: string) {
    if (this.cells.length < this.#most) this.cells.push(cell)
  }
}
