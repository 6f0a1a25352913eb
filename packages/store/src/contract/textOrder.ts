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
