/** Triples for property tests: any Unicode, any legal IRI, blank nodes. */

import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { blankNode, languageLiteral, literal, namedNode, type Triple } from "../../src/rdf/Term.ts"

/** Characters that have a meaning somewhere in Turtle, at the edges of Unicode, or in other scripts. */
const letters = [
  ..."\"'\\<>{}|^`@#.;,:_-%[]()\n\r\t\b\f\u0000\u001f\u007f\u0080\u200d\u2028\ufeff\ufffd\ufffe\uffff aZ9éøΨЖش東\u{10000}\u{1f469}\u{10ffff}",
  "\\u0041",
  '"""',
]

const text = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Schema.Literals(letters)), { maxLength: 12 }), (parts) => parts.join(""))

const iriLetters = [..."/#?:.-_~%41aZ9@!$&'()*+,;=éøΨЖش東\u{10000}\u{1f469}[]"]

export const iris = Arbitrary.map(
  Arbitrary.all([
    Arbitrary.schema(Schema.Literals(["http://example.org/", "urn:x:", "https://a.b/c#", "x:", "mailto:"])),
    Arbitrary.array(Arbitrary.schema(Schema.Literals(iriLetters)), { maxLength: 8 }),
  ]),
  ([start, rest]) => start + rest.join(""),
)

const node = Arbitrary.map(
  Arbitrary.all([iris, Arbitrary.schema(Schema.Literals(["iri", "iri", "a", "b0", "x.y-z_1"]))]),
  ([iri, label]) => (label === "iri" ? namedNode(iri) : blankNode(label)),
)

const object = Arbitrary.map(
  Arbitrary.all([node, text, iris, Arbitrary.schema(Schema.Literals(["node", "text", "typed", "language", "number"]))]),
  ([node, text, iri, kind]) => {
    if (kind === "node") return node
    if (kind === "text") return literal(text)
    if (kind === "typed") return literal(text, iri)
    if (kind === "language") return languageLiteral(text, "pt-BR")
    return literal("007", "http://www.w3.org/2001/XMLSchema#integer")
  },
)

export const triples: Arbitrary.Arbitrary<ReadonlyArray<Triple>> = Arbitrary.array(
  Arbitrary.map(Arbitrary.all([node, iris, object]), ([subject, predicate, object]) => ({
    subject,
    predicate: namedNode(predicate),
    object,
  })),
  { maxLength: 12 },
)
