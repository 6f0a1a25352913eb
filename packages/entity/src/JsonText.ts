/**
 * A JSON parser that records the position of every value, so that a problem can name its place in the text. It is stricter than
 * `JSON.parse`: a duplicate key is a problem, and nesting is bounded, so that a hostile file cannot exhaust the stack.
 */
import type { Path } from "./EntityWorkflowError.ts"

/** A workflow needs five levels. */
const deepest = 64

/** Counted from 1, in UTF-16 code units. */
export interface Position {
  readonly line: number
  readonly column: number
}

export interface JsonProblem extends Position {
  readonly problem: string
}

/** The value of a text, with positions. */
export interface JsonText {
  readonly value: unknown
  /** Problems that do not prevent reading the text. */
  readonly problems: ReadonlyArray<JsonProblem>
  /** The position of the value at a path, of the field's name if the value is an object or a list, or of the parent of a missing value. */
  readonly positionOf: (path: Path) => Position
}

/** A value with its position. */
interface Located {
  readonly value: unknown
  readonly offset: number
  /** The fields or elements of the value, with the offset of the field's name. */
  readonly inside: ReadonlyMap<string | number, { readonly key: number; readonly located: Located }> | undefined
}

/** Parses a text. Returns the position and the problem where it is not JSON. */
export const parse = (text: string): JsonText | JsonProblem => {
  const reader = new Reader(text)
  try {
    const root = reader.readAll()
    return {
      value: root.value,
      problems: reader.duplicates.map(({ offset, problem }) => ({ ...positionIn(text, offset), problem })),
      positionOf: (path) => positionIn(text, offsetOf(root, path)),
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { ...positionIn(text, error.offset), problem: error.message }
  }
}

const offsetOf = (root: Located, path: Path): number => {
  let at = root
  for (const [index, step] of path.entries()) {
    const found = at.inside?.get(step)
    if (found === undefined) return at.offset
    // For a problem with an object or a list, the name of the field is a better place than its opening bracket.
    if (index === path.length - 1) return typeof step === "string" && isContainer(found.located) ? found.key : found.located.offset
    at = found.located
  }
  return at.offset
}

const isContainer = ({ inside }: Located): boolean => inside !== undefined

const positionIn = (text: string, offset: number): Position => {
  let line = 1
  let start = 0
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}

class Unreadable extends Error {
  readonly offset: number
  constructor(offset: number, problem: string) {
    super(problem)
    this.offset = offset
  }
}

const space = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const word = /true|false|null/y
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

class Reader {
  readonly #text: string
  #at = 0
  readonly duplicates: Array<{ readonly offset: number; readonly problem: string }> = []

  constructor(text: string) {
    this.#text = text
  }

  readAll(): Located {
    // Skips the byte order mark that some editors write.
    if (this.#text.startsWith("\ufeff")) this.#at = 1
    const root = this.#value(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected("the end of the file")
    return root
  }

  #value(depth: number): Located {
    this.#skipSpace()
    const offset = this.#at
    if (depth > deepest) throw new Unreadable(offset, `it is nested more than ${deepest} levels deep; a workflow needs five`)
    switch (this.#text[offset]) {
      case "{":
        return this.#object(offset, depth)
      case "[":
        return this.#array(offset, depth)
      case '"':
        return { value: this.#string(), offset, inside: undefined }
      default:
        return { value: this.#literal(), offset, inside: undefined }
    }
  }

  #object(offset: number, depth: number): Located {
    // Without a prototype, __proto__ is an ordinary field.
    const value = Object.create(null) as Record<string, unknown>
    const inside = new Map<string, { readonly key: number; readonly located: Located }>()
    this.#at++
    if (this.#take("}")) return { value, offset, inside }
    do {
      this.#skipSpace()
      const key = this.#at
      if (this.#text[key] !== '"') throw this.#unexpected("the name of a field in double quotes")
      const name = this.#string()
      if (!this.#take(":")) throw this.#unexpected(`":" after the name of a field`)
      const located = this.#value(depth + 1)
      if (inside.has(name)) this.duplicates.push({ offset: key, problem: `the field ${JSON.stringify(name)} is there twice; remove one` })
      inside.set(name, { key, located })
      value[name] = located.value
    } while (this.#take(","))
    if (!this.#take("}")) throw this.#unexpected('"," or "}"')
    return { value, offset, inside }
  }

  #array(offset: number, depth: number): Located {
    const value: Array<unknown> = []
    const inside = new Map<number, { readonly key: number; readonly located: Located }>()
    this.#at++
    if (this.#take("]")) return { value, offset, inside }
    do {
      const located = this.#value(depth + 1)
      inside.set(value.length, { key: located.offset, located })
      value.push(located.value)
    } while (this.#take(","))
    if (!this.#take("]")) throw this.#unexpected('"," or "]"')
    return { value, offset, inside }
  }

  #string(): string {
    const start = this.#at
    let end = start + 1
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === "\\" ? 2 : 1
    if (end >= this.#text.length) throw new Unreadable(start, `a text that no " closes`)
    this.#at = end + 1
    try {
      return JSON.parse(this.#text.slice(start, end + 1))
    } catch {
      throw new Unreadable(start, `a text with a line break or another control character in it, or with a wrong "\\" sequence`)
    }
  }

  #literal(): unknown {
    const digits = this.#match(number)
    if (digits !== undefined) return Number(digits)
    const found = this.#match(word)
    if (found === undefined) throw this.#unexpected("a value")
    return words[found]
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #take(sign: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  #skipSpace() {
    this.#match(space)
  }

  #unexpected(expected: string): Unreadable {
    const found = this.#text[this.#at]
    return new Unreadable(this.#at, `expected ${expected}, found ${found === undefined ? "the end of the file" : JSON.stringify(found)}`)
  }
}
