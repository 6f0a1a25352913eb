/**
 * The known word that was most likely meant.
 *
 * @param {string} word
 * @param {ReadonlyArray<string>} known
 * @returns {string | undefined}
 */
export function nearest(word, known) {
  const [best] = known.map((one) => ({ one, distance: distance(word, one) })).sort((left, right) => left.distance - right.distance)
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.one : undefined
}

/**
 * How many letters have to be changed, left out, added, or swapped with their neighbour.
 *
 * @param {string} left
 * @param {string} right
 */
function distance(left, right) {
  /** @type {Array<number>} */
  let before = []
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + same, swapped))
    }
    before = row
    row = next
  }
  return row[right.length] ?? 0
}
