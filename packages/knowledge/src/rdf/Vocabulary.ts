/** The IRIs of the vocabularies that ontologies, shapes and graphs use. */

/** The prefix of Detent's own terms, which are part of every graph that Detent writes. */
export const detentVocabulary = "urn:detent:vocabulary:"

/** The base IRI of each vocabulary, by its usual prefix. */
export const vocabularies = {
  dcterms: "http://purl.org/dc/terms/",
  detent: detentVocabulary,
  owl: "http://www.w3.org/2002/07/owl#",
  prov: "http://www.w3.org/ns/prov#",
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  sh: "http://www.w3.org/ns/shacl#",
  skos: "http://www.w3.org/2004/02/skos/core#",
  xsd: "http://www.w3.org/2001/XMLSchema#",
}

const { rdf: rdfBase, rdfs: rdfsBase, owl: owlBase, skos: skosBase, xsd: xsdBase } = vocabularies

export const rdf = {
  type: `${rdfBase}type`,
  first: `${rdfBase}first`,
  rest: `${rdfBase}rest`,
  nil: `${rdfBase}nil`,
  property: `${rdfBase}Property`,
  langString: `${rdfBase}langString`,
  statement: `${rdfBase}Statement`,
  subject: `${rdfBase}subject`,
  predicate: `${rdfBase}predicate`,
  object: `${rdfBase}object`,
}

export const rdfs = {
  class: `${rdfsBase}Class`,
  datatype: `${rdfsBase}Datatype`,
  literal: `${rdfsBase}Literal`,
  resource: `${rdfsBase}Resource`,
  subClassOf: `${rdfsBase}subClassOf`,
  subPropertyOf: `${rdfsBase}subPropertyOf`,
  domain: `${rdfsBase}domain`,
  range: `${rdfsBase}range`,
  label: `${rdfsBase}label`,
  comment: `${rdfsBase}comment`,
}

export const owl = {
  ontology: `${owlBase}Ontology`,
  class: `${owlBase}Class`,
  thing: `${owlBase}Thing`,
  nothing: `${owlBase}Nothing`,
  objectProperty: `${owlBase}ObjectProperty`,
  datatypeProperty: `${owlBase}DatatypeProperty`,
  annotationProperty: `${owlBase}AnnotationProperty`,
  functionalProperty: `${owlBase}FunctionalProperty`,
  inverseFunctionalProperty: `${owlBase}InverseFunctionalProperty`,
  symmetricProperty: `${owlBase}SymmetricProperty`,
  asymmetricProperty: `${owlBase}AsymmetricProperty`,
  transitiveProperty: `${owlBase}TransitiveProperty`,
  irreflexiveProperty: `${owlBase}IrreflexiveProperty`,
  topObjectProperty: `${owlBase}topObjectProperty`,
  topDataProperty: `${owlBase}topDataProperty`,
  restriction: `${owlBase}Restriction`,
  onProperty: `${owlBase}onProperty`,
  onClass: `${owlBase}onClass`,
  onDataRange: `${owlBase}onDataRange`,
  someValuesFrom: `${owlBase}someValuesFrom`,
  allValuesFrom: `${owlBase}allValuesFrom`,
  hasValue: `${owlBase}hasValue`,
  minCardinality: `${owlBase}minCardinality`,
  maxCardinality: `${owlBase}maxCardinality`,
  cardinality: `${owlBase}cardinality`,
  minQualifiedCardinality: `${owlBase}minQualifiedCardinality`,
  maxQualifiedCardinality: `${owlBase}maxQualifiedCardinality`,
  qualifiedCardinality: `${owlBase}qualifiedCardinality`,
  unionOf: `${owlBase}unionOf`,
  intersectionOf: `${owlBase}intersectionOf`,
  equivalentClass: `${owlBase}equivalentClass`,
  equivalentProperty: `${owlBase}equivalentProperty`,
  inverseOf: `${owlBase}inverseOf`,
  disjointWith: `${owlBase}disjointWith`,
  disjointUnionOf: `${owlBase}disjointUnionOf`,
  allDisjointClasses: `${owlBase}AllDisjointClasses`,
  members: `${owlBase}members`,
  imports: `${owlBase}imports`,
  versionIri: `${owlBase}versionIRI`,
  deprecated: `${owlBase}deprecated`,
  sameAs: `${owlBase}sameAs`,
}

export const prov = {
  wasDerivedFrom: `${vocabularies.prov}wasDerivedFrom`,
}

export const skos = {
  prefLabel: `${skosBase}prefLabel`,
  altLabel: `${skosBase}altLabel`,
  hiddenLabel: `${skosBase}hiddenLabel`,
  definition: `${skosBase}definition`,
}

export const dc = {
  title: ["http://purl.org/dc/terms/title", "http://purl.org/dc/elements/1.1/title"],
  description: ["http://purl.org/dc/terms/description", "http://purl.org/dc/elements/1.1/description"],
}

/** schema.org uses both http and https IRIs for the same vocabulary. */
export const schemaOrg = {
  domainIncludes: ["http://schema.org/domainIncludes", "https://schema.org/domainIncludes"],
  rangeIncludes: ["http://schema.org/rangeIncludes", "https://schema.org/rangeIncludes"],
}

export const xsd = {
  base: xsdBase,
  string: `${xsdBase}string`,
  boolean: `${xsdBase}boolean`,
  integer: `${xsdBase}integer`,
  decimal: `${xsdBase}decimal`,
  double: `${xsdBase}double`,
  float: `${xsdBase}float`,
  date: `${xsdBase}date`,
  dateTime: `${xsdBase}dateTime`,
  gYear: `${xsdBase}gYear`,
  gYearMonth: `${xsdBase}gYearMonth`,
  anyUri: `${xsdBase}anyURI`,
}

/** Whether an IRI is a datatype of XSD, RDF or RDFS; a custom `rdfs:Datatype` must be declared in the ontology. */
export const isStandardDatatype = (iri: string): boolean => iri.startsWith(xsdBase) || iri === rdf.langString || iri === rdfs.literal

const dateTypes: ReadonlySet<string> = new Set([xsd.date, xsd.dateTime, xsd.gYear, xsd.gYearMonth])
const numberTypes = /#(?:integer|decimal|double|float|int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned\w+)$/

/** Whether the values of a datatype are points in time. */
export const isDateType = (iri: string): boolean => dateTypes.has(iri)

export const isNumberType = (iri: string): boolean => numberTypes.test(iri)

/** The part of an IRI after its last slash or hash. */
export const localName = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#")) + 1)
