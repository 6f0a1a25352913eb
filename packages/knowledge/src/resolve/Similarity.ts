/** Similarity of two words. Both functions work on UTF-16 code units and allocate once per call. */

/** Edit distance in which a swap of neighbours counts as one edit; `limit + 1` for any distance above `limit`. */
export const editDistance = (left: string, right: string, limit: number): number => {
  if (left === right) return 0
  const rows = left.length
  const columns = right.length
  if (Math.abs(rows - columns) > limit) return limit + 1
  const width = columns + 1
  const cells = new Uint16Array(width * (rows + 1))
  for (let row = 0; row <= rows; row++) cells[row * width] = row
  for (let column = 0; column <= columns; column++) cells[column] = column
  const at = (row: number, column: number) => cells[row * width + column] ?? 0
  for (let row = 1; row <= rows; row++) {
    let least = limit + 1
    for (let column = 1; column <= columns; column++) {
      const same = left.charCodeAt(row - 1) === right.charCodeAt(column - 1)
      let distance = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (same ? 0 : 1))
      const swapped =
        row > 1 &&
        column > 1 &&
        left.charCodeAt(row - 1) === right.charCodeAt(column - 2) &&
        left.charCodeAt(row - 2) === right.charCodeAt(column - 1)
      if (swapped) distance = Math.min(distance, at(row - 2, column - 2) + 1)
      cells[row * width + column] = distance
      least = Math.min(least, distance)
    }
    if (least > limit) return limit + 1
  }
  return Math.min(at(rows, columns), limit + 1)
}

/** Jaro-Winkler similarity, from 0 to 1: the share of letters that match at nearby positions, with a bonus for a common prefix. */
export const jaroWinkler = (left: string, right: string): number => {
  if (left === right) return 1
  if (left.length === 0 || right.length === 0) return 0
  const reach = Math.max(0, Math.floor(Math.max(left.length, right.length) / 2) - 1)
  const matchedLeft: Array<number> = []
  const taken = new Uint8Array(right.length)
  for (let index = 0; index < left.length; index++) {
    const until = Math.min(right.length, index + reach + 1)
    for (let other = Math.max(0, index - reach); other < until; other++) {
      if (taken[other] === 1 || left.charCodeAt(index) !== right.charCodeAt(other)) continue
      taken[other] = 1
      matchedLeft.push(index)
      break
    }
  }
  const matches = matchedLeft.length
  if (matches === 0) return 0
  let swaps = 0
  let next = 0
  for (let other = 0; other < right.length; other++) {
    if (taken[other] !== 1) continue
    if (left.charCodeAt(matchedLeft[next] ?? 0) !== right.charCodeAt(other)) swaps++
    next++
  }
  const jaro = (matches / left.length + matches / right.length + (matches - swaps / 2) / matches) / 3
  return jaro + commonPrefix(left, right) * 0.1 * (1 - jaro)
}

const commonPrefix = (left: string, right: string): number => {
  const most = Math.min(4, left.length, right.length)
  let length = 0
  while (length < most && left.charCodeAt(length) === right.charCodeAt(length)) length++
  return length
}
