/**
 * What examples say about clues: how much more often a clue's value stands by an object of a relation than by any other
 * candidate, as smoothed logarithms of odds. Counting instead of fitting is what makes a handful of examples enough; how far
 * each kind of clue is to be trusted is fitted afterwards, on values counted without the sentence in question.
 */
import * as Schema from "effect/Schema"

export const EvidenceCounts = Schema.Struct({
  /** How many positive examples each relation has. */
  positives: Schema.Array(Schema.Finite),
  clues: Schema.Record(
    Schema.String,
    Schema.Struct({
      /** How many candidates were looked at. */
      seen: Schema.Finite,
      /** By value: how many candidates have it, then pairs of a relation and how many of its positive examples have it. */
      values: Schema.Record(Schema.String, Schema.Array(Schema.Finite)),
    }),
  ),
})
export type EvidenceCounts = typeof EvidenceCounts.Type

/** How many imagined examples of the common kind each relation begins with. */
const imagined = 1
/** Below this share a value is not taken to be rarer: chance would decide. */
const rarest = 0.004

interface ValueCounts {
  all: number
  readonly by: Map<number, number>
}

interface ClueCounts {
  seen: number
  readonly values: Map<string, ValueCounts>
}

export class Evidence {
  private readonly positives: Float64Array
  private readonly clues = new Map<string, ClueCounts>()
  private readonly rows = new Map<string, Map<string, Float64Array>>()
  private unseen: Float64Array | undefined
  private shares: Float64Array | undefined

  constructor(relations: number) {
    this.positives = new Float64Array(relations)
  }

  /** `places` tells where each relation of the counts stands among `relations` now; those that are gone are left out. */
  static fromCounts(counts: EvidenceCounts, relations: number, places: (relation: number) => number | undefined): Evidence {
    const evidence = new Evidence(relations)
    counts.positives.forEach((count, relation) => {
      const place = places(relation)
      if (place !== undefined) evidence.positives[place] = count
    })
    for (const [clue, { seen, values }] of Object.entries(counts.clues)) {
      const read = Object.entries(values).map(([value, [all = 0, ...pairs]]) => {
        const by = new Map<number, number>()
        for (let at = 0; at + 1 < pairs.length; at += 2) {
          const place = places(pairs[at] ?? 0)
          if (place !== undefined) by.set(place, pairs[at + 1] ?? 0)
        }
        return [value, { all, by }] as const
      })
      evidence.clues.set(clue, { seen, values: new Map(read) })
    }
    return evidence
  }

  /** Values that no positive example has are left out: all of them are judged alike, however often they were seen. */
  toCounts(): EvidenceCounts {
    const clues = [...this.clues].map(([clue, { seen, values }]) => {
      const kept = [...values].flatMap(([value, { all, by }]) => {
        const pairs = [...by].filter(([, count]) => count > tiny).flatMap(([relation, count]) => [relation, rounded(count)])
        return pairs.length === 0 ? [] : [[value, [rounded(all), ...pairs]] as const]
      })
      return [clue, { seen: rounded(seen), values: Object.fromEntries(kept) }] as const
    })
    return { positives: [...this.positives].map(rounded), clues: Object.fromEntries(clues) }
  }

  /** A candidate has these values. A negative weight takes it back. */
  see(clue: string, values: ReadonlyArray<string>, weight: number) {
    const counts = this.clueCounts(clue)
    counts.seen += weight
    for (const value of values) valueCounts(counts, value).all += weight
    this.forget()
  }

  /** An object of the relation has these values. */
  support(relation: number, clue: string, values: ReadonlyArray<string>, weight: number) {
    const counts = this.clueCounts(clue)
    for (const value of values) {
      const { by } = valueCounts(counts, value)
      by.set(relation, (by.get(relation) ?? 0) + weight)
    }
    this.forget()
  }

  /** Counts one more positive example of the relation. */
  supported(relation: number, weight: number) {
    this.positives[relation] = (this.positives[relation] ?? 0) + weight
    this.forget()
  }

  positivesOf(relation: number): number {
    return this.positives[relation] ?? 0
  }

  /** For each relation, how much more often than the others it occurs in examples, as a logarithm. */
  frequencies(): Float64Array {
    this.shares ??= sharesOf(this.positives)
    return this.shares
  }

  /** For each relation, how much the value speaks for it. */
  odds(clue: string, value: string): Float64Array {
    const known = this.clues.get(clue)?.values.get(value)
    if (known === undefined || known.by.size === 0) return this.oddsOfUnseen()
    const rows = this.rows.get(clue) ?? new Map<string, Float64Array>()
    this.rows.set(clue, rows)
    const kept = rows.get(value)
    if (kept !== undefined) return kept
    const row = this.computeOdds(clue, known)
    rows.set(value, row)
    return row
  }

  private computeOdds(clue: string, { all, by }: ValueCounts): Float64Array {
    const seen = this.clues.get(clue)?.seen ?? 0
    const share = Math.max(rarest, (all + 0.5) / (seen + 1))
    return this.positives.map((positives, relation) =>
      positives < tiny ? 0 : Math.log(((by.get(relation) ?? 0) + imagined * share) / (positives + imagined) / share),
    )
  }

  /** A value that was never met with the relation speaks against it, the more the more examples there were to meet it in. */
  private oddsOfUnseen(): Float64Array {
    this.unseen ??= this.positives.map((positives) => (positives < tiny ? 0 : Math.log(imagined / (positives + imagined))))
    return this.unseen
  }

  private forget() {
    if (this.rows.size > 0) this.rows.clear()
    this.unseen = undefined
    this.shares = undefined
  }

  private clueCounts(clue: string): ClueCounts {
    const found = this.clues.get(clue) ?? { seen: 0, values: new Map() }
    this.clues.set(clue, found)
    return found
  }
}

const tiny = 1e-6

const sharesOf = (positives: Float64Array): Float64Array => {
  const total = positives.reduce((sum, count) => sum + count, 0)
  return positives.map((count) => Math.log(((count + 1) / (total + positives.length)) * positives.length))
}

/** Taking counts back leaves crumbs of floating point behind. */
const rounded = (count: number): number => Math.round(count * 1e6) / 1e6

const valueCounts = (counts: ClueCounts, value: string): ValueCounts => {
  const found = counts.values.get(value)
  if (found !== undefined) return found
  const made = { all: 0, by: new Map<number, number>() }
  counts.values.set(value, made)
  return made
}
