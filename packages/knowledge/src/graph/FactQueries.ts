/**
 * The questions behind `GraphFacts`, in SPARQL. Each first finds the keys of a page and then gathers what belongs to them: what
 * is not on the page is not looked up.
 */

import { vocabularies } from "../rdf/Vocabulary.ts"

const { dcterms, detent, prov, rdf, rdfs } = vocabularies

const prefixes = `PREFIX rdf: <${rdf}>
PREFIX rdfs: <${rdfs}>
PREFIX prov: <${prov}>
PREFIX dcterms: <${dcterms}>
PREFIX detent: <${detent}>`

/** Between names that are given as one text; in no name, since names have single spaces. */
export const namesApart = "\n"

interface Keyed {
  readonly after?: string
}

/** The type is a term of SPARQL. */
export const entitiesQuery = (
  { search, after }: Keyed & { readonly search?: string },
  type: string | undefined,
  limit: number,
) => `${prefixes}
SELECT ?key (GROUP_CONCAT(DISTINCT ?name; separator=${textOf(namesApart)}) AS ?labels) (GROUP_CONCAT(DISTINCT ?kind; separator=" ") AS ?types) WHERE {
  { SELECT DISTINCT ?entity ?key WHERE {
    ?entity rdfs:label ?match ; a ?any . FILTER(?any != rdf:Statement)
    ${type === undefined ? "" : `?entity a ${type} .`}
    ${search === undefined ? "" : `FILTER(CONTAINS(LCASE(?match), LCASE(${textOf(search)})))`}
    BIND(STR(?entity) AS ?key) ${following(after)}
  } ORDER BY ?key LIMIT ${limit} }
  ?entity rdfs:label ?label ; a ?class .
  BIND(STR(?label) AS ?name) BIND(STR(?class) AS ?kind)
} GROUP BY ?key ORDER BY ?key`

/** An IRI and a text that look alike are two objects, so the kind is in the key too. */
const relationKey = `CONCAT(STR(?subject), " ", STR(?property), " ", STR(?object), " ",
  IF(ISIRI(?object), "", CONCAT(STR(DATATYPE(?object)), "@", LANG(?object))))`

/** Entity and property are terms of SPARQL. */
export const relationsQuery = ({ after }: Keyed, entity: string | undefined, property: string | undefined, limit: number) => `${prefixes}
SELECT ?key ?subject ?property ?object ?confidence ?witnesses ${leastLabels} WHERE {
  { SELECT ?key ?subject ?property ?object (MAX(?sure) AS ?confidence) (COUNT(DISTINCT ?fact) AS ?witnesses) WHERE {
    ${entity === undefined ? "" : `VALUES ?entity { ${entity} } { ?fact rdf:subject ?entity } UNION { ?fact rdf:object ?entity }`}
    ?fact a rdf:Statement ; rdf:subject ?subject ; rdf:predicate ?property ; rdf:object ?object ; detent:confidence ?sure .
    ${property === undefined ? "" : `FILTER(?property = ${property})`}
    BIND(${relationKey} AS ?key) ${following(after)}
  } GROUP BY ?key ?subject ?property ?object ORDER BY ?key LIMIT ${limit} }
  ${labels}
} GROUP BY ?key ?subject ?property ?object ?confidence ?witnesses ORDER BY ?key`

/**
 * Statements are named by document, so those of one document stand together. A document that two batches have read has two
 * runs in one statement; the first of them is given.
 */
export const factsQuery = ({ after }: Keyed, entity: string, limit: number) => `${prefixes}
SELECT ?key ?subject ?property ?object (MIN(?said) AS ?quote) (MIN(?from) AS ?start) (MIN(?to) AS ?end) (MAX(?sure) AS ?confidence)
  (MIN(STR(?source)) AS ?document) (MIN(STR(?at)) AS ?address) (MIN(?called) AS ?title) (MIN(?hash) AS ?contentHash) (MIN(?by) AS ?extractor) (MIN(?in) AS ?run)
  (MIN(?who) AS ?acceptedBy) (MIN(STR(?when)) AS ?acceptedAt) ${leastLabels} WHERE {
  { SELECT DISTINCT ?key ?fact ?subject ?property ?object WHERE {
    VALUES ?subject { ${entity} }
    ?fact rdf:subject ?subject ; a rdf:Statement ; rdf:predicate ?property ; rdf:object ?object .
    BIND(STR(?fact) AS ?key) ${following(after)}
  } ORDER BY ?key LIMIT ${limit} }
  ?fact prov:wasDerivedFrom ?source ; detent:quote ?said ; detent:start ?from ; detent:end ?to ;
    detent:confidence ?sure ; detent:extractor ?by ; detent:run ?in .
  OPTIONAL { ?fact detent:acceptedBy ?who ; detent:acceptedAt ?when }
  OPTIONAL { ?source dcterms:source ?at } OPTIONAL { ?source dcterms:title ?called } OPTIONAL { ?source detent:contentHash ?hash }
  ${labels}
} GROUP BY ?key ?subject ?property ?object ORDER BY ?key`

/** Of several names, always the same one. */
const leastLabels = "(MIN(STR(?subjectName)) AS ?subjectLabel) (MIN(STR(?objectName)) AS ?objectLabel)"

const labels = `OPTIONAL { ?subject rdfs:label ?subjectName } OPTIONAL { ?object rdfs:label ?objectName }`

const following = (after: string | undefined) => (after === undefined ? "" : `FILTER(?key > ${textOf(after)})`)

/** JSON escapes what SPARQL wants escaped, in the same way. */
const textOf = (text: string): string => JSON.stringify(text.toWellFormed())
