/** Triples, found by subject and predicate. Blank nodes that stand for class expressions and lists are followed here. */
import type { Triple } from "../rdf/Term.ts"
import { owl, rdf } from "../rdf/Vocabulary.ts"
import type { ClassExpression, Label } from "./Ontology.ts"

export class StatementGraph {
  private readonly bySubject = new Map<string, Map<string, Array<Triple["object"]>>>()
  private readonly byType = new Map<string, Set<string>>()

  constructor(triples: ReadonlyArray<Triple>) {
    for (const { subject, predicate: property, object } of triples) {
      const key = keyOf(subject)
      const predicate = property.value
      const predicates = getOrMake(this.bySubject, key, () => new Map<string, Array<Triple["object"]>>())
      getOrMake(predicates, predicate, () => []).push(object)
      if (predicate === rdf.type && object.termType === "NamedNode") getOrMake(this.byType, object.value, () => new Set()).add(key)
    }
  }

  /** The subjects of a type, in the order in which they first appear. */
  typed(type: string): ReadonlyArray<string> {
    return [...(this.byType.get(type) ?? [])]
  }

  subjects(): Iterable<string> {
    return this.bySubject.keys()
  }

  isTyped(subject: string, type: string): boolean {
    return this.byType.get(type)?.has(subject) ?? false
  }

  has(subject: string, predicate: string): boolean {
    return this.bySubject.get(subject)?.has(predicate) ?? false
  }

  objects(subject: string, predicate: string): ReadonlyArray<Triple["object"]> {
    return this.bySubject.get(subject)?.get(predicate) ?? []
  }

  iris(subject: string, predicate: string): ReadonlyArray<string> {
    return distinct(this.objects(subject, predicate).flatMap((node) => (node.termType === "NamedNode" ? [node.value] : [])))
  }

  /** The objects as keys, blank nodes too. */
  keys(subject: string, predicate: string): ReadonlyArray<string> {
    return distinct(this.objects(subject, predicate).flatMap((node) => (node.termType === "Literal" ? [] : [keyOf(node)])))
  }

  literals(subject: string, predicates: ReadonlyArray<string>): ReadonlyArray<Label> {
    const labels = predicates.flatMap((predicate) =>
      this.objects(subject, predicate).flatMap((node) =>
        node.termType === "Literal" && node.value.trim() !== "" ? [{ text: node.value.trim(), language: node.language }] : [],
      ),
    )
    const seen = new Set<string>()
    return labels.filter((label) => {
      const key = `${label.language} ${label.text}`
      return seen.has(key) ? false : seen.add(key)
    })
  }

  integer(subject: string, predicate: string): number | undefined {
    const [node] = this.objects(subject, predicate)
    return node?.termType === "Literal" && /^\+?\d+$/.test(node.value.trim()) ? Number(node.value) : undefined
  }

  /** The members of an RDF list. A list that runs into itself ends where it does. */
  list(head: string): ReadonlyArray<string> {
    const members: Array<string> = []
    const visited = new Set<string>()
    for (let at = head; at !== rdf.nil && !visited.has(at); ) {
      visited.add(at)
      members.push(...this.keys(at, rdf.first))
      const [next] = this.keys(at, rdf.rest)
      if (next === undefined) break
      at = next
    }
    return members
  }

  /**
   * A named class, or what a union or an intersection of named classes comes to. Undefined for what cannot be written so:
   * complements, enumerations, restrictions.
   */
  classExpression(key: string): ClassExpression | undefined {
    return this.expressionWithin(key, new Set())
  }

  private expressionWithin(key: string, visited: Set<string>): ClassExpression | undefined {
    if (!isBlank(key)) return [[key]]
    if (visited.has(key)) return undefined
    visited.add(key)
    const [union] = this.keys(key, owl.unionOf)
    if (union !== undefined) {
      const members = this.list(union).map((member) => this.expressionWithin(member, visited))
      // A union of intersections is widened to the union of their first parts: too much is allowed rather than too little.
      return members.some((member) => member === undefined) ? undefined : [distinct(members.flatMap((member) => member?.[0] ?? []))]
    }
    const [intersection] = this.keys(key, owl.intersectionOf)
    if (intersection === undefined) return undefined
    const known = this.list(intersection).flatMap((member) => this.expressionWithin(member, visited) ?? [])
    return known.length === 0 ? undefined : known
  }
}

export const isBlank = (key: string): boolean => key.startsWith("_:")

const keyOf = (node: Triple["object"]): string => (node.termType === "BlankNode" ? `_:${node.value}` : node.value)

export const distinct = <A>(items: Iterable<A>): ReadonlyArray<A> => [...new Set(items)]

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
