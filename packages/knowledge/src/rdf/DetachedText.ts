/**
 * A copy of a text that stands by itself. The engine makes a part of a text by pointing into the whole, which then stays in
 * memory as long as the part does: a name of twenty letters would keep the lines of its whole document.
 */
export const detached = (text: string): string => Buffer.from(text).toString()

/** Texts that are kept for long and come again and again: each is there once, and stands by itself. */
export class KeptTexts {
  readonly #texts = new Map<string, string>()

  of(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const own = detached(text)
    this.#texts.set(own, own)
    return own
  }
}
