/** Suggestions for misspelt names. */

// Names may come from clients. Comparing two takes the product of their lengths.
const longestName = 60
const mostCompared = 500

/** How many known names, and how much of a name, a message has. */
const mostNamed = 50
const longestShown = 200

/** The nearest known name, if it is near enough to be a typing error. Undefined for long names, and beyond the first hundreds of known ones. */
export const nearest = (name: string, known: Iterable<string>): string | undefined => {
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  if (name.length > longestName) return undefined
  let compared = 0
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue
    if (++compared > mostCompared) break
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
  const unknown = `${shown(place)} is not known`
  if (near !== undefined) return `${unknown}; did you mean ${near}?`
  const more = known.length > mostNamed ? ` and ${known.length - mostNamed} more` : ""
  return `${unknown}; use one of ${known.slice(0, mostNamed).map(shown).join(", ")}${more}`
}

const shown = (name: string): string => (name.length > longestShown ? `${name.slice(0, longestShown)}…`.toWellFormed() : name)

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
