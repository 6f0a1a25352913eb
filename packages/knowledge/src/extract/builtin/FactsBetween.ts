/** Facts brought together with the mentions that another step, or another extractor, found. */

import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import type { Fact, Mention } from "../Fact.ts"
import { spanKey } from "./FoundFact.ts"

/** The facts between given mentions, whose classes are taken as they are given. */
export const between = (facts: ReadonlyArray<Fact>, mentions: ReadonlyArray<Mention>, ontology: OntologyIndex): ReadonlyArray<Fact> => {
  const bySpan = Map.groupBy(mentions, (mention) => spanKey(mention.span))
  return facts.flatMap((fact): ReadonlyArray<Fact> => {
    const subject = preferred(bySpan.get(spanKey(fact.subject.span)), fact.subject.type, (type) =>
      ontology.acceptsSubject(fact.property, type),
    )
    if (subject === undefined) return []
    const { object } = fact
    if (object._tag === "Value") return [{ ...fact, subject }]
    const mention = preferred(bySpan.get(spanKey(object.mention.span)), object.mention.type, (type) =>
      ontology.acceptsObject(fact.property, type),
    )
    return mention === undefined ? [] : [{ ...fact, subject, object: { _tag: "Entity", mention } }]
  })
}

const preferred = (mentions: ReadonlyArray<Mention> | undefined, type: string, accepts: (type: string) => boolean): Mention | undefined =>
  mentions?.find((mention) => mention.type === type) ?? mentions?.find((mention) => accepts(mention.type))
