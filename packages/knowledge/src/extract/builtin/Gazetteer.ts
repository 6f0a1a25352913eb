/**
 * Names known before a text is read, with their classes: from a list, or from the examples. A name matches wherever its words occur, in
 * upper or lower case.
 */
import { fold, tokenize } from "../../text/Words.ts"

export interface KnownName {
  readonly name: string
  /** IRIs of classes; empty when only the name is known. */
  readonly types: ReadonlyArray<string>
}

const none: ReadonlyArray<string> = []

export class Gazetteer {
  private readonly types = new Map<string, ReadonlyArray<string>>()
  /** By first word, the lengths in words of the names that begin with it. Most words begin no name, and few begin long ones. */
  private readonly lengths = new Map<string, Set<number>>()

  constructor(names: Iterable<KnownName>) {
    for (const { name, types } of names) {
      const words = wordsOf(name)
      const [first] = words
      if (first === undefined) continue
      const key = words.join(" ")
      this.types.set(key, [...new Set([...(this.types.get(key) ?? none), ...types])])
      const lengths = this.lengths.get(first)
      if (lengths === undefined) this.lengths.set(first, new Set([words.length]))
      else lengths.add(words.length)
    }
  }

  get size(): number {
    return this.types.size
  }

  /** The positions of the first and last word of each known name in `words`. */
  occurrences(words: ReadonlyArray<string>): ReadonlyArray<readonly [number, number]> {
    const found: Array<readonly [number, number]> = []
    words.forEach((word, first) => {
      for (const length of this.lengths.get(word) ?? []) {
        const last = first + length - 1
        if (last < words.length && this.types.has(words.slice(first, last + 1).join(" "))) found.push([first, last])
      }
    })
    return found
  }

  /** The classes of a name; undefined when it is not known. */
  typesOf(words: ReadonlyArray<string>): ReadonlyArray<string> | undefined {
    return this.types.get(words.join(" "))
  }
}

const wordsOf = (name: string): ReadonlyArray<string> => tokenize(name).map((token) => fold(token.text))
