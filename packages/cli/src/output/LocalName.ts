/** The part of an IRI after its last slash or hash. */
export const localName = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#")) + 1)
