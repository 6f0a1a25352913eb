/** Suggestions for misspelt names. */

/** The nearest known name, if it is near enough to be a typing error. */
export const nearest = (name: string, known: Iterable<string>): string | undefined => {
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue
    const distance = distanceBetween(name.toLowerCase(), one.toLowerCase())
    if (distance < least) {
      least = distance
      best = one
    }
  }
  return best
}

/** The error for an unknown key, with the nearest known key, or with all known keys where none is near. `place` is the key's path. */
export const unknownKeyText = (place: string, known: ReadonlyArray<string>): string => {
  const near = nearest(place.slice(place.lastIndexOf(".") + 1), known)
  return near === undefined ? `${place} is not known; use one of ${known.join(", ")}` : `${place} is not known; did you mean ${near}?`
}

/** The edit distance: the number of characters to add, remove, replace, or swap with their neighbour. */
const distanceBetween = (a: string, b: string): number => {
  let before: Array<number> = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
