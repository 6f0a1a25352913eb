/**
 * Chance that can be asked for at any place again: the same seed and the same words give the same number, whatever was asked
 * before. So the millionth entity of a corpus is known without making those before it.
 */

export class Chance {
  #state: number

  constructor(seed: number, ...place: ReadonlyArray<string | number>) {
    let state = seed | 0
    for (const character of place.join("/")) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193)
    this.#state = state
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  happens(share: number): boolean {
    return this.next() < share
  }

  one<A>(choices: readonly [A, ...ReadonlyArray<A>]): A {
    return choices[this.below(choices.length)] ?? choices[0]
  }
}
