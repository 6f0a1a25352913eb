/**
 * What lies above and below each term of a subclass or subproperty graph, computed once. Terms of a cycle are above and
 * below each other: that is what the statements entail, namely that they are the same.
 */

export class Hierarchy {
  private readonly above = new Map<string, ReadonlySet<string>>()
  private readonly below = new Map<string, Set<string>>()

  constructor(parents: ReadonlyMap<string, ReadonlyArray<string>>) {
    for (const term of parents.keys()) {
      const reached = reachableFrom(term, parents)
      this.above.set(term, reached)
      for (const ancestor of reached) {
        const descendants = this.below.get(ancestor)
        if (descendants === undefined) this.below.set(ancestor, new Set([term]))
        else descendants.add(term)
      }
    }
  }

  /** Without the term itself. */
  ancestors(term: string): ReadonlySet<string> {
    return this.above.get(term) ?? none
  }

  /** Without the term itself. */
  descendants(term: string): ReadonlySet<string> {
    return this.below.get(term) ?? none
  }

  isA(term: string, ancestor: string): boolean {
    return term === ancestor || this.ancestors(term).has(ancestor)
  }
}

const none: ReadonlySet<string> = new Set()

const reachableFrom = (start: string, edges: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlySet<string> => {
  const reached = new Set<string>()
  const waiting = [...(edges.get(start) ?? [])]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === start || reached.has(next)) continue
    reached.add(next)
    waiting.push(...(edges.get(next) ?? []))
  }
  return reached
}

/** The groups of terms that are above themselves, each once, beginning with the term that comes first. */
export const cyclesOf = (parents: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const cycles: Array<ReadonlyArray<string>> = []
  const assigned = new Set<string>()
  for (const term of candidates(parents)) {
    if (assigned.has(term)) continue
    const up = reachableFrom(term, parents)
    const group = [term, ...[...up].filter((other) => reachableFrom(other, parents).has(term))]
    if (group.length === 1) continue
    for (const member of group) assigned.add(member)
    cycles.push(group)
  }
  return cycles
}

/** Only terms left over when all without remaining parents are taken away, again and again, can be in or below a cycle. */
const candidates = (parents: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<string> => {
  const open = new Map([...parents].map(([term, above]) => [term, above.filter((one) => one !== term && parents.has(one)).length]))
  const children = new Map<string, Array<string>>()
  for (const [term, above] of parents) {
    for (const one of above) {
      if (one === term) continue
      const known = children.get(one)
      if (known === undefined) children.set(one, [term])
      else known.push(term)
    }
  }
  const free = [...open].flatMap(([term, count]) => (count === 0 ? [term] : []))
  for (let term = free.pop(); term !== undefined; term = free.pop()) {
    open.delete(term)
    for (const child of children.get(term) ?? []) {
      const left = (open.get(child) ?? 1) - 1
      open.set(child, left)
      if (left === 0) free.push(child)
    }
  }
  return [...open.keys()]
}
