/**
 * The classes of each node: from its types, from `rdfs:subClassOf` in the graph, and from the ontology. Kept for every node, since a
 * shape may check the class of any node that a node points to.
 */
import type { NodeOfLines } from "../graph/StoredLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { detached, type LineParts, termOf, typePredicate } from "../rdf/NTriples.ts"
import { rdfs } from "../rdf/Vocabulary.ts"

export const subClassPredicate = `<${rdfs.subClassOf}>`

const none: ReadonlyArray<string> = []

const without = (list: ReadonlyArray<string>, removed: string): ReadonlyArray<string> => list.filter((one) => one !== removed)

export class ClassMembership {
  /** Number of changes to the class hierarchy; used to invalidate caches. */
  hierarchy = 0
  readonly #ontology: OntologyIndex
  readonly #types = new Map<string, ReadonlyArray<string>>()
  /** Interned lists: equal lists are stored once. */
  readonly #lists = new Map<string, ReadonlyArray<string>>()
  /** The superclasses that the graph itself states, by IRI. */
  readonly #parents = new Map<string, ReadonlyArray<string>>()
  readonly #above = new Map<string, ReadonlySet<string>>()

  constructor(ontology: OntologyIndex) {
    this.#ontology = ontology
  }

  /** Nodes are N-Triples terms. */
  add({ subject, values }: NodeOfLines): void {
    const types = values.get(typePredicate)
    if (types !== undefined) this.#types.set(detached(subject), this.#shared(types))
    const parents = values.get(subClassPredicate)
    if (parents !== undefined)
      this.#parents.set(
        termOf(subject).value,
        parents.map((one) => termOf(one).value),
      )
  }

  /** Removes a type or subclass statement, given as N-Triples terms; ignores any other. */
  remove({ subject, predicate, object }: LineParts): void {
    if (predicate === typePredicate) this.#setTypes(subject, without(this.typesOf(subject), object))
    if (predicate === subClassPredicate) this.#setParents(subject, (parents) => without(parents, termOf(object).value))
  }

  /** Restores a removed statement. */
  restore({ subject, predicate, object }: LineParts): void {
    if (predicate === typePredicate) this.#setTypes(subject, [...this.typesOf(subject), object])
    if (predicate === subClassPredicate) this.#setParents(subject, (parents) => [...parents, termOf(object).value])
  }

  /** As N-Triples terms. */
  typesOf(node: string): ReadonlyArray<string> {
    return this.#types.get(node) ?? none
  }

  /** The superclasses of a class, by IRI. Contains the class itself only if it is part of a cycle. */
  above(type: string): ReadonlySet<string> {
    if (this.#parents.size === 0) return this.#ontology.ancestors(type)
    const known = this.#above.get(type)
    if (known !== undefined) return known
    const reached = new Set<string>()
    const waiting = [type]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const parent of [...this.#ontology.ancestors(next), ...(this.#parents.get(next) ?? none)]) {
        if (reached.has(parent)) continue
        reached.add(parent)
        waiting.push(parent)
      }
    }
    this.#above.set(type, reached)
    return reached
  }

  isOf(node: string, type: string): boolean {
    return this.typesOf(node).some((own) => {
      const { value } = termOf(own)
      return value === type || this.above(value).has(type)
    })
  }

  #setTypes(node: string, types: ReadonlyArray<string>): void {
    if (types.length === 0) this.#types.delete(node)
    else this.#types.set(node, this.#shared(types))
  }

  #setParents(node: string, change: (parents: ReadonlyArray<string>) => ReadonlyArray<string>): void {
    const type = termOf(node).value
    this.#parents.set(type, change(this.#parents.get(type) ?? none))
    this.#above.clear()
    this.hierarchy++
  }

  #shared(types: ReadonlyArray<string>): ReadonlyArray<string> {
    const key = types.join(" ")
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const list = types.map(detached)
    this.#lists.set(detached(key), list)
    return list
  }
}
