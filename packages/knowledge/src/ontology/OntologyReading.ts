/** Turns the triples of an RDF file into an {@link Ontology}: OWL and RDFS, and what schema.org says in its own words. */
import type { Triple } from "../rdf/Term.ts"
import { dc, isStandardDatatype, owl, rdfs } from "../rdf/Vocabulary.ts"
import { readClasses } from "./ClassReading.ts"
import { cyclesOf } from "./Hierarchy.ts"
import type { Ontology, OntologyNote } from "./Ontology.ts"
import { readProperties } from "./PropertyReading.ts"
import { distinct, isBlank, StatementGraph } from "./StatementGraph.ts"

export const readOntology = (triples: ReadonlyArray<Triple>, hash: string): Ontology => {
  const graph = new StatementGraph(triples)
  const notes: Array<OntologyNote> = []
  const datatypes = graph.typed(rdfs.datatype).filter((key) => !isBlank(key) && !isStandardDatatype(key))
  const properties = readProperties(graph, new Set(datatypes), notes)
  const classes = readClasses(graph, properties, new Set(datatypes), notes)
  const [self] = graph.typed(owl.ontology).filter((key) => !isBlank(key))
  for (const imported of self === undefined ? [] : graph.iris(self, owl.imports)) {
    notes.push({ kind: "import", subject: imported, detail: "imports are not fetched; add its statements to the file if they are needed" })
  }
  notes.push(...cycleNotes(classes, "class"), ...cycleNotes(properties, "property"))
  const versionIri = self === undefined ? undefined : graph.iris(self, owl.versionIri)[0]
  const title = self === undefined ? undefined : graph.literals(self, [...dc.title, rdfs.label])[0]?.text
  return {
    hash,
    namespace: namespaceOf([...classes, ...properties].map((term) => term.iri)) ?? self ?? "",
    ...(versionIri === undefined ? {} : { versionIri }),
    ...(title === undefined ? {} : { title }),
    classes,
    properties,
    datatypes: distinct(datatypes),
    notes,
  }
}

interface WithParents {
  readonly iri: string
  readonly parents: ReadonlyArray<string>
}

/** A cycle is no error: it says that its members are the same. It is seldom meant, so the notes name it. */
const cycleNotes = (terms: ReadonlyArray<WithParents>, what: "class" | "property"): ReadonlyArray<OntologyNote> =>
  cyclesOf(new Map(terms.map((term) => [term.iri, term.parents]))).map(([first = "", ...others]) => ({
    kind: "cycle",
    subject: first,
    detail: `is a sub${what} of itself through ${others.join(", ")}; they are taken to be the same ${what}`,
  }))

/** What most terms begin with, up to the last `#`, `/` or `:`. The ontology's own IRI often differs from it. */
const namespaceOf = (iris: ReadonlyArray<string>): string | undefined => {
  const counts = new Map<string, number>()
  for (const iri of iris) {
    const beginning = /^.*[#/:]/s.exec(iri)?.[0] ?? iri
    counts.set(beginning, (counts.get(beginning) ?? 0) + 1)
  }
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))[0]?.[0]
}
