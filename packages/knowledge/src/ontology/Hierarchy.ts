/**
 * What lies above and below each term of a subclass or subproperty graph. Terms of a cycle are above and below each other: that is
 * what the statements entail, namely that they are the same. Each answer is worked out when it is first asked for: all of them at
 * once would take the square of the number of terms in a long chain.
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

  /** The terms that lie below another one of these. One pass, however long the chains between them are. */
  belowAny(terms: Iterable<string>): ReadonlySet<string> {
    /** Of the given terms, two that lie above a term: one of them is not the term itself. */
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

  /** How many terms lie below a term, where one with several parents counts below its first only: so all counts take one pass. */
  generality(term: string): number {
    this.#generality ??= generalityOf(this.#parents)
    return this.#generality.get(term) ?? 0
  }

  isA(term: string, ancestor: string): boolean {
    return term === ancestor || this.ancestors(term).has(ancestor)
  }
}

/** How many terms all kept answers may name together. */
const mostKept = 2_000_000

/** Answers that are kept as long as there is room. */
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

/** From the leaves upwards: a term is counted when all below it are. The terms of a cycle count what lies below the cycle. */
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

/** The groups of terms that are above themselves, each once, beginning with the term that comes first. */
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

/** The strongly connected groups, by Tarjan's algorithm, without recursion: a chain may be longer than the stack is deep. */
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
