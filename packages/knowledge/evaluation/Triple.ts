/** Facts as the words they are scored by: subject, label of the property, object. */
import { objectText } from "../src/extract/builtin/FoundFact.ts"
import type { Fact } from "../src/extract/Fact.ts"
import type { OntologyIndex } from "../src/ontology/OntologyIndex.ts"
import type { Notation } from "./Notation.ts"

export interface Triple {
  readonly sub: string
  readonly rel: string
  readonly obj: string
}

/** A fact that was found, with what scoring asks of it. */
export interface FoundTriple extends Triple {
  readonly confidence: number
  /** Whether subject and object are what the property asks for. */
  readonly conforms: boolean
}

/** The facts as triples, each once and with its highest confidence. */
export const triplesOf = (facts: ReadonlyArray<Fact>, ontology: OntologyIndex, notation: Notation): ReadonlyArray<FoundTriple> => {
  const found = new Map<string, FoundTriple>()
  for (const fact of facts) {
    const triple = {
      sub: fact.subject.text,
      rel: ontology.label(fact.property),
      obj: fact.object._tag === "Value" ? notation(fact.object) : objectText(fact.object),
      confidence: fact.confidence,
      conforms: conforms(fact, ontology),
    }
    const key = keyOf(triple)
    const known = found.get(key)
    if (known === undefined || known.confidence < triple.confidence) found.set(key, triple)
  }
  return [...found.values()]
}

const conforms = ({ subject, property, object }: Fact, ontology: OntologyIndex): boolean =>
  ontology.acceptsSubject(property, subject.type) &&
  (object._tag === "Entity" ? ontology.acceptsObject(property, object.mention.type) : ontology.acceptsValue(property, object.datatype))

/** How words are compared: case, spaces and underscores make no difference. */
export const normal = (text: string): string => text.toLowerCase().replace(/[\s_]+/g, "")

export const keyOf = ({ sub, rel, obj }: Triple): string => `${normal(sub)}\u0000${normal(rel)}\u0000${normal(obj)}`
