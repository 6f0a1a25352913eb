/**
 * HTML as text: what a reader of the page would see, block by block. Tables become records; scripts, styles and navigation of
 * the browser's own are left out.
 */
import * as Effect from "effect/Effect"
import { describe } from "../storage/Describe.ts"
import { HtmlTable } from "./HtmlTable.ts"
import type { DecodedText } from "./PlainText.ts"
import { DocumentMalformed } from "./ReadError.ts"
import { type Reading, TextBuilder } from "./Reading.ts"

const skipped = new Set(["script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "textarea"])

const paragraphs = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "dl", "title", "figure", "hr"])

const lines = new Set(
  "address article aside body br dd details div dt fieldset figcaption footer form header html legend li main nav option section summary tr".split(
    " ",
  ),
)

/** Deeper than any page that is meant to be read; the parser takes longer for each level. */
const deepest = 2000

export const readHtml = (source: string, { text, encoding }: DecodedText): Effect.Effect<Reading, DocumentMalformed> =>
  Effect.flatMap(
    Effect.promise(() => import("htmlparser2")),
    ({ Parser }) =>
      Effect.try({
        try: () => {
          const page = new Page()
          let depth = 0
          const parser = new Parser(
            {
              onopentagname: (name) => {
                // Thrown through the parser, which has no other way to be stopped.
                if (++depth > deepest) throw new Error(`its elements are nested more than ${deepest} deep`)
                page.open(name)
              },
              ontext: (piece) => page.text(piece, parser.startIndex, parser.endIndex + 1),
              onclosetag: (name) => {
                depth--
                page.close(name)
              },
            },
            { decodeEntities: true, lowerCaseTags: true },
          )
          parser.end(text)
          return page.builder.build(encoding)
        },
        catch: (error) => new DocumentMalformed({ source, format: "html", problem: describe(error) }),
      }),
  )

class Page {
  readonly builder = new TextBuilder()
  #hidden = 0
  #preformatted = 0
  #table: HtmlTable | undefined
  /** A space is only written when something follows on the same line. */
  #space: { readonly start: number; readonly end: number } | undefined

  open(name: string): void {
    if (skipped.has(name)) this.#hidden++
    if (name === "pre") this.#preformatted++
    if (this.#hidden > 0) return
    if (this.#table !== undefined) this.#table.open(name)
    else if (name === "table") {
      this.#breakLine(2)
      this.#table = new HtmlTable()
    } else this.#breakAt(name)
  }

  close(name: string): void {
    if (skipped.has(name)) this.#hidden = Math.max(0, this.#hidden - 1)
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted - 1)
    if (this.#hidden > 0) return
    if (this.#table === undefined) this.#breakAt(name)
    else if (this.#table.close(name)) {
      this.#table.addTo(this.builder)
      this.#table = undefined
    }
  }

  text(piece: string, start: number, end: number): void {
    if (this.#hidden > 0) return
    const text = piece.toWellFormed()
    if (this.#table !== undefined) this.#table.text(text, start, end)
    else if (this.#preformatted > 0) this.builder.add(text, { _tag: "Characters", start, end })
    else this.#prose(text, start, end)
  }

  #prose(text: string, start: number, end: number): void {
    // A piece that is spelled otherwise in the source cannot be told apart character by character.
    const isLiteral = end - start === text.length
    for (const { 0: part, index } of text.matchAll(/\s+|\S+/gu)) {
      const place = isLiteral ? { start: start + index, end: start + index + part.length } : { start, end }
      if (/^\s/u.test(part)) this.#space = place
      else this.#word(part, place)
    }
  }

  #word(word: string, place: { readonly start: number; readonly end: number }): void {
    if (this.#space !== undefined && this.builder.isInLine) this.builder.add(" ", { _tag: "Characters", ...this.#space })
    this.#space = undefined
    this.builder.add(word, { _tag: "Characters", ...place })
  }

  #breakAt(name: string): void {
    if (paragraphs.has(name)) this.#breakLine(2)
    else if (lines.has(name)) this.#breakLine(1)
  }

  #breakLine(breaks: 1 | 2): void {
    this.#space = undefined
    this.builder.breakLine(breaks)
  }
}
