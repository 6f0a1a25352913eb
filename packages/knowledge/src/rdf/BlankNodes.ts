/**
 * Gives blank nodes labels that follow from what is said of them, by the W3C's RDF Dataset Canonicalization (RDFC-1.0): two
 * graphs that say the same get the same labels, whatever they were called. A graph is held in memory for this.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { compareCodePoints } from "./LineSort.ts"
import { lineOf } from "./NTriples.ts"
import { type BlankNode, blankNode, type Literal, type NamedNode, type Triple } from "./Term.ts"

/** Blank nodes that are so much alike that telling them apart would take too long. */
export class BlankNodesAlike extends Schema.TaggedError<BlankNodesAlike>()("BlankNodesAlike", {
  blankNodes: Schema.Finite,
  steps: Schema.Finite,
}) {
  override get message() {
    return `${this.blankNodes} blank nodes are too much alike to be told apart in ${this.steps} steps; give some of them IRIs`
  }
}

export interface BlankNodeOptions {
  /** How many paths between blank nodes may be tried: graphs made to be symmetric would need more than any machine can do. */
  readonly steps?: number
}

/** The same triples with labels `c14n0`, `c14n1` and so on, in the order of their lines. */
export const relabelBlankNodes = (
  triples: ReadonlyArray<Triple>,
  { steps = 20_000 }: BlankNodeOptions = {},
): Effect.Effect<ReadonlyArray<Triple>, BlankNodesAlike> =>
  Effect.suspend(() => {
    // What is said twice is said once: a repetition would count as a difference.
    const distinct = [...new Map(triples.map((triple) => [lineOf(triple), triple])).values()]
    const graph = new BlankNodeGraph(distinct, steps)
    const labels = graph.labels()
    if (labels === undefined) return Effect.fail(new BlankNodesAlike({ blankNodes: graph.size, steps }))
    const renamed = distinct.map((triple) => withLabels(triple, (label) => labels.get(label) ?? label))
    const lines = new Map(renamed.map((triple) => [lineOf(triple), triple]))
    return Effect.succeed([...lines].sort(([a], [b]) => compareCodePoints(a, b)).map(([, triple]) => triple))
  })

/** Hands out labels in the order in which they are first asked for. */
class Issuer {
  readonly issued: Map<string, string>
  readonly #prefix: string

  constructor(prefix: string, issued: ReadonlyMap<string, string> = new Map()) {
    this.#prefix = prefix
    this.issued = new Map(issued)
  }

  issue(label: string): string {
    const known = this.issued.get(label)
    if (known !== undefined) return known
    const made = `${this.#prefix}${this.issued.size}`
    this.issued.set(label, made)
    return made
  }

  copy(): Issuer {
    return new Issuer(this.#prefix, this.issued)
  }
}

class BlankNodeGraph {
  readonly #mentions = new Map<string, Array<Triple>>()
  readonly #firstDegree = new Map<string, string>()
  readonly #canonical = new Issuer("c14n")
  #stepsLeft: number

  constructor(triples: ReadonlyArray<Triple>, steps: number) {
    this.#stepsLeft = steps
    for (const triple of triples) {
      for (const label of new Set(labelsOf(triple))) {
        const mentions = this.#mentions.get(label)
        if (mentions === undefined) this.#mentions.set(label, [triple])
        else mentions.push(triple)
      }
    }
  }

  get size(): number {
    return this.#mentions.size
  }

  /** Undefined when it would take too many steps. */
  labels(): ReadonlyMap<string, string> | undefined {
    const byHash = new Map<string, Array<string>>()
    for (const label of this.#mentions.keys()) {
      const hash = this.#hashOf(label)
      byHash.set(hash, [...(byHash.get(hash) ?? []), label])
    }
    const groups = [...byHash].sort(byKey).map(([, labels]) => labels)
    for (const labels of groups) if (labels.length === 1) this.#canonical.issue(labels[0]!)
    for (const labels of groups) {
      if (labels.length === 1) continue
      const paths: Array<readonly [string, Issuer]> = []
      for (const label of labels) {
        if (this.#canonical.issued.has(label)) continue
        const issuer = new Issuer("b")
        issuer.issue(label)
        const path = this.#hashPaths(label, issuer)
        if (path === undefined) return undefined
        paths.push(path)
      }
      for (const [, issuer] of paths.sort(byKey)) for (const label of issuer.issued.keys()) this.#canonical.issue(label)
    }
    return this.#canonical.issued
  }

  /** Of all that is said of a node, other blank nodes being just that. */
  #hashOf(label: string): string {
    const known = this.#firstDegree.get(label)
    if (known !== undefined) return known
    const lines = (this.#mentions.get(label) ?? []).map(
      (triple) => `${lineOf(withLabels(triple, (other) => (other === label ? "a" : "z")))}\n`,
    )
    const hash = sha256(lines.sort(compareCodePoints).join(""))
    this.#firstDegree.set(label, hash)
    return hash
  }

  /** Of all that is said of a node and of the blank nodes around it, along the path that gives the least text. */
  #hashPaths(label: string, issuer: Issuer): readonly [string, Issuer] | undefined {
    const related = new Map<string, Array<string>>()
    for (const triple of this.#mentions.get(label) ?? []) {
      for (const [position, term] of [["s", triple.subject] as const, ["o", triple.object] as const]) {
        if (term.termType !== "BlankNode" || term.value === label) continue
        const hash = this.#hashRelated(term.value, triple.predicate.value, position, issuer)
        related.set(hash, [...(related.get(hash) ?? []), term.value])
      }
    }
    let data = ""
    let current = issuer
    for (const [hash, labels] of [...related].sort(byKey)) {
      const chosen = this.#leastPath(labels, current)
      if (chosen === undefined) return undefined
      data += hash + chosen[0]
      current = chosen[1]
    }
    return [sha256(data), current]
  }

  #hashRelated(label: string, predicate: string, position: string, issuer: Issuer): string {
    const known = this.#canonical.issued.get(label) ?? issuer.issued.get(label)
    return sha256(`${position}<${predicate}>${known === undefined ? this.#hashOf(label) : `_:${known}`}`)
  }

  #leastPath(labels: ReadonlyArray<string>, issuer: Issuer): readonly [string, Issuer] | undefined {
    let chosen: readonly [string, Issuer] | undefined
    for (const order of permutations(labels)) {
      if (--this.#stepsLeft < 0) return undefined
      const path = this.#pathAlong(order, issuer.copy(), chosen?.[0])
      if (path === undefined) return undefined
      if (path !== "longer" && (chosen === undefined || compareCodePoints(path[0], chosen[0]) < 0)) chosen = path
    }
    return chosen
  }

  #pathAlong(order: ReadonlyArray<string>, issuer: Issuer, best: string | undefined): readonly [string, Issuer] | "longer" | undefined {
    let path = ""
    let current = issuer
    const isLonger = () => best !== undefined && path.length >= best.length && compareCodePoints(path, best) > 0
    const unknown: Array<string> = []
    for (const label of order) {
      const canonical = this.#canonical.issued.get(label)
      if (canonical !== undefined) path += `_:${canonical}`
      else {
        if (!current.issued.has(label)) unknown.push(label)
        path += `_:${current.issue(label)}`
      }
      if (isLonger()) return "longer"
    }
    for (const label of unknown) {
      const result = this.#hashPaths(label, current)
      if (result === undefined) return undefined
      path += `_:${current.issue(label)}<${result[0]}>`
      current = result[1]
      if (isLonger()) return "longer"
    }
    return [path, current]
  }
}

const labelsOf = ({ subject, object }: Triple): ReadonlyArray<string> =>
  [subject, object].flatMap((term) => (term.termType === "BlankNode" ? [term.value] : []))

const withLabels = (triple: Triple, rename: (label: string) => string): Triple => {
  const renamed = <T extends NamedNode | BlankNode | Literal>(term: T): T | BlankNode =>
    term.termType === "BlankNode" ? blankNode(rename(term.value)) : term
  return { subject: renamed(triple.subject), predicate: triple.predicate, object: renamed(triple.object) }
}

function* permutations<T>(items: ReadonlyArray<T>): Generator<ReadonlyArray<T>> {
  if (items.length <= 1) {
    yield items
    return
  }
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest]
  }
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => compareCodePoints(a, b)

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
