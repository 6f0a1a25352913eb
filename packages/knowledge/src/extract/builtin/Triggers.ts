/** The words of a sentence that speak of properties: by a property's own label, by a word of like meaning, or as part of a compound. */
import type { PropertyView } from "./PropertyView.ts"
import type { SentenceView } from "./SentenceView.ts"

export interface Trigger {
  readonly at: number
  readonly strength: "label" | "related" | "compound"
}

const none: ReadonlyArray<Trigger> = []

export class TriggerIndex {
  private readonly byStem = new Map<string, Array<readonly [number, "label" | "related"]>>()
  private readonly compounds: ReadonlyArray<readonly [number, string]>

  constructor(properties: ReadonlyArray<PropertyView>) {
    properties.forEach((property, index) => {
      for (const stem of property.stems) this.add(stem, [index, "label"])
      for (const stem of property.related) this.add(stem, [index, "related"])
    })
    this.compounds = properties.flatMap((property, index) =>
      [...property.stems].filter((stem) => stem.length > 6).map((stem) => [index, stem] as const),
    )
  }

  /** By property, in the order of the sentence. */
  find(view: SentenceView): ReadonlyMap<number, ReadonlyArray<Trigger>> {
    const found = new Map<number, Array<Trigger>>()
    const put = (property: number, trigger: Trigger) => {
      const known = found.get(property)
      if (known === undefined) found.set(property, [trigger])
      else known.push(trigger)
    }
    view.stems.forEach((stem, at) => {
      if (!view.content[at]) return
      const direct = this.byStem.get(stem) ?? []
      for (const [property, strength] of direct) put(property, { at, strength })
      if (stem.length < 4) return
      for (const [property, label] of this.compounds) {
        // "screenwriter" is a kind of writer; what is left must be a word of its own.
        if (label.length > stem.length + 2 && label.endsWith(stem)) put(property, { at, strength: "compound" })
      }
    })
    return found
  }

  private add(stem: string, entry: readonly [number, "label" | "related"]) {
    const known = this.byStem.get(stem)
    if (known === undefined) this.byStem.set(stem, [entry])
    else known.push(entry)
  }
}

export const triggersOf = (found: ReadonlyMap<number, ReadonlyArray<Trigger>>, property: number): ReadonlyArray<Trigger> =>
  found.get(property) ?? none

/** The places of words that are of some property's label. */
export const placesOfLabels = (found: ReadonlyMap<number, ReadonlyArray<Trigger>>): ReadonlySet<number> => {
  const places = new Set<number>()
  for (const triggers of found.values()) for (const { at, strength } of triggers) if (strength === "label") places.add(at)
  return places
}
