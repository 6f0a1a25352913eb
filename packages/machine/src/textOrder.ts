/**
 * Compares texts by code points: the order of their UTF-8 bytes, in which every store sorts names and every object store its keys.
 * JavaScript's own order is by UTF-16 units, in which the surrogates of later characters come before U+E000 to U+FFFF.
 */
export const compareText = (left: string, right: string): number => {
  const shared = Math.min(left.length, right.length)
  for (let at = 0; at < shared; at++) {
    const difference = rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
