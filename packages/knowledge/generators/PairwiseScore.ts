/** How well mentions were joined: over all pairs, which the truth joins and which the resolver did. */
export interface PairwiseScore {
  readonly precision: number
  readonly recall: number
  readonly f1: number
}

/** Counted from the sizes of groups, so that a million mentions need no list of pairs. */
export const pairwise = (truth: ReadonlyArray<string>, found: ArrayLike<number>): PairwiseScore => {
  const pairs = (keys: Iterable<string>) => {
    const sizes = new Map<string, number>()
    for (const key of keys) sizes.set(key, (sizes.get(key) ?? 0) + 1)
    return [...sizes.values()].reduce((sum, size) => sum + (size * (size - 1)) / 2, 0)
  }
  const both = pairs(truth.map((entity, index) => `${entity}\n${found[index]}`))
  const precision = both / Math.max(1, pairs(truth.map((_, index) => String(found[index]))))
  const recall = both / Math.max(1, pairs(truth))
  return { precision, recall, f1: both === 0 ? 0 : (2 * precision * recall) / (precision + recall) }
}
