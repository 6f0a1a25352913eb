/**
 * Strings in the order of their code points, which is also the order of their UTF-8 bytes: what `LC_ALL=C sort` and object
 * stores use. JavaScript's own order differs where characters beyond U+FFFF meet those from U+E000 on.
 */
export const compareCodePoints = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index)
    const y = b.charCodeAt(index)
    if (x === y) continue
    // A surrogate stands for a code point above all others, so it is moved behind U+FFFF.
    return raised(x) - raised(y)
  }
  return a.length - b.length
}

/** Whether JavaScript's own order could differ. */
export const hasSurrogates = (text: string): boolean => /[\ud800-\udfff]/.test(text)

const raised = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)
