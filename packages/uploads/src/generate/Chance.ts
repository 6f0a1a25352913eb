/** Chance that can be repeated: the same seed, the same choices. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1, exclusive (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  happens(share: number): boolean {
    return this.next() < share
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<A>(from: ReadonlyArray<A>): A {
    return from[Math.floor(this.next() * from.length)] as A
  }

  /** A place in a list whose first ones are taken most often, as words and authors are. */
  rank(count: number): number {
    return Math.floor(count * this.next() ** 3)
  }
}
