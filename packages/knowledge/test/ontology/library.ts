/** One small ontology, written in each of the three formats. */

export const turtle = `@prefix : <https://example.org/library#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<https://example.org/library> a owl:Ontology ; rdfs:label "Library" ; owl:versionIRI <https://example.org/library/2> .

:Agent a owl:Class ; rdfs:label "agent" .
:Person a owl:Class ; rdfs:subClassOf :Agent ; rdfs:label "person"@en, "Person"@de ; skos:altLabel "human being"@en .
:Publisher a owl:Class ; rdfs:subClassOf :Agent ; rdfs:label "publisher" ; owl:disjointWith :Person .
:Work a owl:Class ; rdfs:label "work" ; rdfs:comment "Something written." .
:Book a owl:Class ; rdfs:label "book" ;
  rdfs:subClassOf :Work,
    [ a owl:Restriction ; owl:onProperty :author ; owl:someValuesFrom :Person ],
    [ a owl:Restriction ; owl:onProperty :publisher ; owl:maxCardinality 1 ] .
:Novel a owl:Class ; rdfs:subClassOf :Book ; rdfs:label "novel" .
:Magazine a owl:Class ; rdfs:subClassOf :Work ; rdfs:label "magazine" .

:author a owl:ObjectProperty ; rdfs:label "author" ; skos:altLabel "written by" ; rdfs:domain :Work ; rdfs:range :Person ; owl:inverseOf :wrote .
:wrote a owl:ObjectProperty ; rdfs:label "wrote" .
:firstAuthor a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:subPropertyOf :author ; rdfs:label "first author" .
:publisher a owl:ObjectProperty ; rdfs:label "publisher" ; rdfs:domain [ a owl:Class ; owl:unionOf (:Book :Magazine) ] ; rdfs:range :Publisher .
:pages a owl:DatatypeProperty ; rdfs:label "number of pages" ; rdfs:domain :Book ; rdfs:range xsd:integer .
`

export const rdfXml = `<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY lib "https://example.org/library#"> ]>
<rdf:RDF xmlns="https://example.org/library#" xml:base="https://example.org/library"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <owl:Ontology rdf:about=""><rdfs:label>Library</rdfs:label><owl:versionIRI rdf:resource="https://example.org/library/2"/></owl:Ontology>
  <owl:Class rdf:about="#Agent"><rdfs:label>agent</rdfs:label></owl:Class>
  <owl:Class rdf:about="&lib;Person">
    <rdfs:subClassOf rdf:resource="#Agent"/>
    <rdfs:label xml:lang="en">person</rdfs:label><rdfs:label xml:lang="de">Person</rdfs:label>
    <skos:altLabel xml:lang="en">human being</skos:altLabel>
  </owl:Class>
  <owl:Class rdf:ID="Publisher">
    <rdfs:subClassOf rdf:resource="#Agent"/><rdfs:label>publisher</rdfs:label><owl:disjointWith rdf:resource="#Person"/>
  </owl:Class>
  <owl:Class rdf:about="#Work"><rdfs:label>work</rdfs:label><rdfs:comment>Something written.</rdfs:comment></owl:Class>
  <owl:Class rdf:about="#Book">
    <rdfs:label>book</rdfs:label>
    <rdfs:subClassOf rdf:resource="#Work"/>
    <rdfs:subClassOf>
      <owl:Restriction><owl:onProperty rdf:resource="#author"/><owl:someValuesFrom rdf:resource="#Person"/></owl:Restriction>
    </rdfs:subClassOf>
    <rdfs:subClassOf>
      <owl:Restriction>
        <owl:onProperty rdf:resource="#publisher"/>
        <owl:maxCardinality rdf:datatype="http://www.w3.org/2001/XMLSchema#nonNegativeInteger">1</owl:maxCardinality>
      </owl:Restriction>
    </rdfs:subClassOf>
  </owl:Class>
  <owl:Class rdf:about="#Novel"><rdfs:subClassOf rdf:resource="#Book"/><rdfs:label>novel</rdfs:label></owl:Class>
  <owl:Class rdf:about="#Magazine"><rdfs:subClassOf rdf:resource="#Work"/><rdfs:label>magazine</rdfs:label></owl:Class>
  <owl:ObjectProperty rdf:about="#author">
    <rdfs:label>author</rdfs:label><skos:altLabel>written by</skos:altLabel>
    <rdfs:domain rdf:resource="#Work"/><rdfs:range rdf:resource="#Person"/><owl:inverseOf rdf:resource="#wrote"/>
  </owl:ObjectProperty>
  <owl:ObjectProperty rdf:about="#wrote"><rdfs:label>wrote</rdfs:label></owl:ObjectProperty>
  <owl:ObjectProperty rdf:about="#firstAuthor">
    <rdf:type rdf:resource="http://www.w3.org/2002/07/owl#FunctionalProperty"/>
    <rdfs:subPropertyOf rdf:resource="#author"/><rdfs:label>first author</rdfs:label>
  </owl:ObjectProperty>
  <owl:ObjectProperty rdf:about="#publisher">
    <rdfs:label>publisher</rdfs:label>
    <rdfs:domain>
      <owl:Class>
        <owl:unionOf rdf:parseType="Collection">
          <rdf:Description rdf:about="#Book"/><rdf:Description rdf:about="#Magazine"/>
        </owl:unionOf>
      </owl:Class>
    </rdfs:domain>
    <rdfs:range rdf:resource="#Publisher"/>
  </owl:ObjectProperty>
  <owl:DatatypeProperty rdf:about="#pages">
    <rdfs:label>number of pages</rdfs:label><rdfs:domain rdf:resource="#Book"/>
    <rdfs:range rdf:resource="http://www.w3.org/2001/XMLSchema#integer"/>
  </owl:DatatypeProperty>
</rdf:RDF>
`

export const jsonLd = JSON.stringify(
  {
    "@context": {
      "@base": "https://example.org/library",
      "@vocab": "https://example.org/library#",
      owl: "http://www.w3.org/2002/07/owl#",
      rdfs: "http://www.w3.org/2000/01/rdf-schema#",
      skos: "http://www.w3.org/2004/02/skos/core#",
      xsd: "http://www.w3.org/2001/XMLSchema#",
      label: "rdfs:label",
      under: { "@id": "rdfs:subClassOf", "@type": "@id" },
      domain: { "@id": "rdfs:domain", "@type": "@id" },
      range: { "@id": "rdfs:range", "@type": "@id" },
      unionOf: { "@id": "owl:unionOf", "@type": "@id", "@container": "@list" },
    },
    "@graph": [
      { "@id": "", "@type": "owl:Ontology", label: "Library", "owl:versionIRI": { "@id": "https://example.org/library/2" } },
      { "@id": "#Agent", "@type": "owl:Class", label: "agent" },
      {
        "@id": "#Person",
        "@type": "owl:Class",
        under: "#Agent",
        label: [
          { "@value": "person", "@language": "en" },
          { "@value": "Person", "@language": "de" },
        ],
        "skos:altLabel": { "@value": "human being", "@language": "en" },
      },
      { "@id": "#Publisher", "@type": "owl:Class", under: "#Agent", label: "publisher", "owl:disjointWith": { "@id": "#Person" } },
      { "@id": "#Work", "@type": "owl:Class", label: "work", "rdfs:comment": "Something written." },
      {
        "@id": "#Book",
        "@type": "owl:Class",
        label: "book",
        "rdfs:subClassOf": [
          { "@id": "#Work" },
          { "@type": "owl:Restriction", "owl:onProperty": { "@id": "#author" }, "owl:someValuesFrom": { "@id": "#Person" } },
          { "@type": "owl:Restriction", "owl:onProperty": { "@id": "#publisher" }, "owl:maxCardinality": 1 },
        ],
      },
      { "@id": "#Novel", "@type": "owl:Class", under: "#Book", label: "novel" },
      { "@id": "#Magazine", "@type": "owl:Class", under: "#Work", label: "magazine" },
      {
        "@id": "#author",
        "@type": "owl:ObjectProperty",
        label: "author",
        "skos:altLabel": "written by",
        domain: "#Work",
        range: "#Person",
        "owl:inverseOf": { "@id": "#wrote" },
      },
      { "@id": "#wrote", "@type": "owl:ObjectProperty", label: "wrote" },
      {
        "@id": "#firstAuthor",
        "@type": ["owl:ObjectProperty", "owl:FunctionalProperty"],
        label: "first author",
        "rdfs:subPropertyOf": { "@id": "#author" },
      },
      {
        "@id": "#publisher",
        "@type": "owl:ObjectProperty",
        label: "publisher",
        "rdfs:domain": { "@type": "owl:Class", unionOf: ["#Book", "#Magazine"] },
        range: "#Publisher",
      },
      { "@id": "#pages", "@type": "owl:DatatypeProperty", label: "number of pages", domain: "#Book", range: "xsd:integer" },
    ],
  },
  undefined,
  2,
)

export const iri = (name: string): string => `https://example.org/library#${name}`
