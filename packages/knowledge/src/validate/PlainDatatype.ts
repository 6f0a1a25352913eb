/**
 * Whether a literal is plainly of a datatype: the forms that values usually have. What is valid in a rarer form is not said to be
 * so here; whoever needs to know asks a library.
 */
import { termOf } from "../graph/LineNodes.ts"
import { xsdString } from "../rdf/Term.ts"

const xsd = "http://www.w3.org/2001/XMLSchema#"

const usual: Readonly<Record<string, RegExp>> = {
  [xsdString]: /^/,
  [`${xsd}integer`]: /^-?\d+$/,
  [`${xsd}nonNegativeInteger`]: /^\d+$/,
  [`${xsd}decimal`]: /^-?\d+(\.\d+)?$/,
  [`${xsd}double`]: /^-?\d+(\.\d+)?$/,
  [`${xsd}boolean`]: /^(true|false)$/,
  [`${xsd}gYear`]: /^[1-9]\d{3}$/,
  [`${xsd}date`]: /^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$/,
  [`${xsd}dateTime`]: /^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/,
}

/** The term as it stands in a line of N-Triples. */
export const isPlainlyOf = (term: string, datatype: string): boolean => {
  const literal = termOf(term)
  if (literal._tag === "Node" || literal.language !== undefined) return false
  return (literal.datatype ?? xsdString) === datatype && (usual[datatype]?.test(literal.value) ?? false)
}
