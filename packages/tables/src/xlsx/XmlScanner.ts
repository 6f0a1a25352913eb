/** Splits XML into tags and text while it arrives, as far as XLSX files need it. A document type is refused: entities could grow it. */
import { StringDecoder } from "node:string_decoder"

export interface XmlHandler {
  /** A tag without its namespace prefix. `source` is the text between its brackets, for {@link attribute}. */
  readonly open: (name: string, source: string) => void
  readonly close: (name: string) => void
  /** A part of a text: long texts come in many. */
  readonly text: (text: string) => void
}

/** The most characters of a tag. */
const longestTag = 100_000

export class XmlScanner {
  readonly #handler: XmlHandler
  readonly #decoder = new StringDecoder("utf8")
  #rest = ""

  constructor(handler: XmlHandler) {
    this.#handler = handler
  }

  /** Throws an error for text that is no XML. */
  push(chunk: Buffer) {
    this.#scan(this.#rest + this.#decoder.write(chunk))
  }

  #scan(text: string) {
    let at = 0
    while (at < text.length) {
      if (text.charCodeAt(at) !== 60) {
        const tag = text.indexOf("<", at)
        const end = tag < 0 ? textEnd(text, at) : tag
        if (end > at) this.#handler.text(unescape(text.slice(at, end)))
        at = end
        if (tag < 0) break
        continue
      }
      const end = this.#tag(text, at)
      if (end < 0) {
        if (text.length - at > longestTag) throw new Error("a tag has no end")
        break
      }
      at = end
    }
    this.#rest = text.slice(at)
  }

  /** Returns the end of the tag that begins here, or -1 if it has not arrived. */
  #tag(text: string, at: number): number {
    const next = text.charCodeAt(at + 1)
    if (next === 33) return this.#declaration(text, at)
    if (next === 63) return after(text, "?>", at)
    let end = at + 1
    let quote = 0
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (quote !== 0) {
        if (code === quote) quote = 0
      } else if (code === 34 || code === 39) quote = code
      else if (code === 62) break
    }
    if (end >= text.length) return -1
    const isEmpty = text.charCodeAt(end - 1) === 47
    if (next === 47) this.#handler.close(nameIn(text, at + 2, end))
    else {
      const name = nameIn(text, at + 1, end)
      this.#handler.open(name, text.slice(at, isEmpty ? end - 1 : end))
      if (isEmpty) this.#handler.close(name)
    }
    return end + 1
  }

  #declaration(text: string, at: number): number {
    if (text.startsWith("<!--", at)) return after(text, "-->", at)
    if (text.startsWith("<![CDATA[", at)) {
      const end = text.indexOf("]]>", at)
      if (end >= 0) this.#handler.text(text.slice(at + 9, end))
      return end < 0 ? -1 : end + 3
    }
    if (text.length - at < 9) return -1
    throw new Error("it has a document type")
  }
}

const after = (text: string, end: string, from: number): number => {
  const at = text.indexOf(end, from)
  return at < 0 ? -1 : at + end.length
}

/** The end of the text that has arrived, before an entity that has not arrived completely. */
const textEnd = (text: string, from: number): number => {
  const entity = text.lastIndexOf("&")
  return entity >= from && entity > text.length - 12 && text.indexOf(";", entity) < 0 ? entity : text.length
}

const nameIn = (text: string, start: number, end: number): string => {
  let stop = start
  let from = start
  for (; stop < end; stop++) {
    const code = text.charCodeAt(stop)
    if (code === 58) from = stop + 1
    else if (code === 32 || code === 47 || code === 10 || code === 13 || code === 9) break
  }
  return text.slice(from, stop)
}

/** The value of an attribute; undefined where the tag has none with this name. */
export const attribute = (source: string, name: string): string | undefined => {
  for (let at = source.indexOf(name); at >= 0; at = source.indexOf(name, at + 1)) {
    const before = source.charCodeAt(at - 1)
    if (before !== 32 && before !== 10 && before !== 13 && before !== 9) continue
    let equals = at + name.length
    while (source.charCodeAt(equals) === 32) equals++
    if (source.charCodeAt(equals) !== 61) continue
    let start = equals + 1
    while (source.charCodeAt(start) === 32) start++
    const quote = source.charAt(start)
    const end = source.indexOf(quote, start + 1)
    return end < 0 ? undefined : unescape(source.slice(start + 1, end))
  }
  return undefined
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }

const unescape = (text: string): string => {
  if (!text.includes("&")) return text
  return text.replaceAll(/&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-z]{2,4});/g, (whole, name: string) => {
    if (!name.startsWith("#")) return entities[name] ?? whole
    const code = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd"
  })
}
