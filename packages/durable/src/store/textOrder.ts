/** The order in which every store sorts names: by code points, which is the order of their bytes in UTF-8. */

/** JavaScript compares UTF-16 units, in which the surrogates of later characters come before U+E000 to U+FFFF. */
export const compareText = (left: string, right: string): number => {
  const shared = Math.min(left.length, right.length)
  for (let at = 0; at < shared; at++) {
    const difference = rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** The least text that is greater than all texts that begin with the prefix; undefined where there is none. */
export const afterPrefix = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === lastPoint) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // No text has a surrogate as a character.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

const lastPoint = 0x10ffff
