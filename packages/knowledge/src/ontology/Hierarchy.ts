/**
 * The ancestors and descendants of each term of a subclass or subproperty graph. Terms of a cycle are ancestors and descendants of each
 * other, since the statements entail that they are equivalent. Each set is computed on first use: computing all of them up front takes
 * quadratic time and memory in a long chain.
 */

export class Hierarchy {
  readonly #parents: ReadonlyMap<string, ReadonlyArray<string>>
  readonly #children = new Map<string, Array<string>>()
  readonly #order: ReadonlyMap<string, number>
  readonly #above = new Reached()
  readonly #below = new Reached()
  #generality: ReadonlyMap<string, number> | undefined

  constructor(parents: ReadonlyMap<string, ReadonlyArray<string>>) {
    this.#parents = parents
    this.#order = orderOf(parents)
    for (const [term, above] of parents) {
      for (const one of above) {
        const known = this.#children.get(one)
        if (known === undefined) this.#children.set(one, [term])
        else known.push(term)
      }
    }
  }

  /** Without the term itself. */
  ancestors(term: string): ReadonlySet<string> {
    return this.#above.from(term, () => reachableFrom(term, this.#parents))
  }

  /** Without the term itself, in the order of the graph. */
  descendants(term: string): ReadonlySet<string> {
    return this.#below.from(term, () => new Set([...reachableFrom(term, this.#children)].sort(byOrder(this.#order))))
  }

  /** The terms below a given term other than themselves. One pass, regardless of the length of the chains between them. */
  belowAny(terms: Iterable<string>): ReadonlySet<string> {
    /** Up to two given terms above each term: with two, at least one is not the term itself. */
    const above = new Map<string, ReadonlyArray<string>>()
    const waiting = [...terms].map((term) => [term, term] as const)
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [parent, from] = next
      for (const term of this.#children.get(parent) ?? []) {
        const known = above.get(term) ?? []
        if (known.length === 2 || known[0] === from) continue
        above.set(term, [...known, from])
        waiting.push([term, from])
      }
    }
    return new Set([...above].flatMap(([term, found]) => (found.some((one) => one !== term) ? [term] : [])))
  }

  /** Number of terms below a term. A term with several parents counts below its first only, so one pass computes all counts. */
  generality(term: string): number {
    this.#generality ??= generalityOf(this.#parents)
    return this.#generality.get(term) ?? 0
  }

  isA(term: string, ancestor: string): boolean {
    return term === ancestor || this.ancestors(term).has(ancestor)
  }
}

/** Maximum total size of the cached sets, in terms. */
const mostKept = 2_000_000

/** A cache of sets that stops admitting entries when it is full. */
class Reached {
  readonly #kept = new Map<string, ReadonlySet<string>>()
  #size = 0

  from(term: string, reach: () => ReadonlySet<string>): ReadonlySet<string> {
    const known = this.#kept.get(term)
    if (known !== undefined) return known
    const reached = reach()
    if (this.#size + reached.size > mostKept) return reached
    this.#size += reached.size + 1
    this.#kept.set(term, reached)
    return reached
  }
}

const orderOf = (parents: ReadonlyMap<string, unknown>): ReadonlyMap<string, number> =>
  new Map([...parents.keys()].map((term, index) => [term, index]))

const byOrder = (order: ReadonlyMap<string, number>) => (one: string, other: string) => (order.get(one) ?? 0) - (order.get(other) ?? 0)

const none: ReadonlySet<string> = new Set()

const reachableFrom = (start: string, edges: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlySet<string> => {
  const first = edges.get(start)
  if (first === undefined || first.length === 0) return none
  const reached = new Set<string>()
  const waiting = [...first]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === start || reached.has(next)) continue
    reached.add(next)
    for (const one of edges.get(next) ?? []) waiting.push(one)
  }
  return reached
}

/** Counts from the leaves upwards: a term is complete when all terms below it are. Terms of a cycle count only those below the cycle. */
const generalityOf = (parents: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyMap<string, number> => {
  const below = new Map<string, number>()
  const waitsFor = new Map<string, number>()
  const parentOf = (term: string) => parents.get(term)?.[0]
  for (const term of parents.keys()) {
    const parent = parentOf(term)
    if (parent !== undefined) waitsFor.set(parent, (waitsFor.get(parent) ?? 0) + 1)
  }
  const counted = [...parents.keys()].filter((term) => !waitsFor.has(term))
  for (let term = counted.pop(); term !== undefined; term = counted.pop()) {
    const parent = parentOf(term)
    if (parent === undefined) continue
    below.set(parent, (below.get(parent) ?? 0) + 1 + (below.get(term) ?? 0))
    const left = (waitsFor.get(parent) ?? 0) - 1
    waitsFor.set(parent, left)
    if (left === 0) counted.push(parent)
  }
  return below
}

/** The cycles, each once, as groups of terms. Groups and their terms are in the order of the graph. */
export const cyclesOf = (parents: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const compare = byOrder(orderOf(parents))
  return connectedGroups(parents)
    .filter((group) => group.length > 1)
    .map((group) => group.toSorted(compare))
    .sort(([one = ""], [other = ""]) => compare(one, other))
}

/** A term whose parents are being examined. */
interface Visit {
  readonly term: string
  readonly parents: ReadonlyArray<string>
  next: number
}

/** The strongly connected components, by Tarjan's algorithm. Iterative, since a chain may be longer than the call stack allows. */
const connectedGroups = (parents: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const groups: Array<ReadonlyArray<string>> = []
  const numbers = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: Array<string> = []
  const isOpen = new Set<string>()
  const lower = (term: string, number: number) => lowest.set(term, Math.min(lowest.get(term) ?? number, number))
  const enter = (term: string): Visit => {
    const number = numbers.size
    numbers.set(term, number)
    lowest.set(term, number)
    open.push(term)
    isOpen.add(term)
    return { term, parents: parents.get(term) ?? [], next: 0 }
  }
  const leave = (term: string) => {
    if (lowest.get(term) !== numbers.get(term)) return
    const group = open.splice(open.lastIndexOf(term))
    for (const member of group) isOpen.delete(member)
    groups.push(group)
  }
  for (const root of parents.keys()) {
    if (numbers.has(root)) continue
    const visits = [enter(root)]
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const parent = visit.parents[visit.next++]
      if (parent === undefined) {
        visits.pop()
        leave(visit.term)
        const below = visits.at(-1)
        if (below !== undefined) lower(below.term, lowest.get(visit.term) ?? 0)
      } else if (!numbers.has(parent)) {
        if (parents.has(parent)) visits.push(enter(parent))
      } else if (isOpen.has(parent)) lower(visit.term, numbers.get(parent) ?? 0)
    }
  }
  return groups
}
