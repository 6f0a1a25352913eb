/** A world of breweries with labels in four languages, and documents about them. */

export const base = "https://example.org/brew#"

export const ontology = `
@prefix : <${base}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://example.org/brew> a owl:Ontology .
:Brewery a owl:Class ; rdfs:label "brewery"@en, "Brauerei"@de, "brasserie"@fr, "cervecera"@es ; skos:altLabel "Unternehmen"@de, "entreprise"@fr, "empresa"@es .
:Person a owl:Class ; rdfs:label "person"@en, "Person"@de, "personne"@fr, "persona"@es .
:City a owl:Class ; rdfs:label "city"@en, "Stadt"@de, "ville"@fr, "ciudad"@es .
:Beer a owl:Class ; rdfs:label "beer"@en, "Bier"@de, "bière"@fr, "cerveza"@es .
:founder a owl:ObjectProperty ; rdfs:domain :Brewery ; rdfs:range :Person ; rdfs:label "founder"@en, "Gründer"@de, "fondateur"@fr, "fundador"@es .
:foundingDate a owl:DatatypeProperty ; rdfs:domain :Brewery ; rdfs:range xsd:date ; rdfs:label "founding date"@en, "Gründungsdatum"@de, "date de fondation"@fr, "fecha de fundación"@es .
:foundingYear a owl:DatatypeProperty ; rdfs:domain :Brewery ; rdfs:range xsd:gYear ; rdfs:label "founding year"@en, "Gründungsjahr"@de, "année de fondation"@fr, "año de fundación"@es .
:headquarters a owl:ObjectProperty ; rdfs:domain :Brewery ; rdfs:range :City ; rdfs:label "headquarters"@en, "Sitz"@de, "siège"@fr, "sede"@es .
:employees a owl:DatatypeProperty ; rdfs:domain :Brewery ; rdfs:range xsd:integer ; rdfs:label "employees"@en, "Mitarbeiter"@de, "salariés"@fr, "empleados"@es ; skos:altLabel "Mitarbeiterzahl"@de, "nombre de salariés"@fr, "número de empleados"@es .
:output a owl:DatatypeProperty ; rdfs:domain :Brewery ; rdfs:range xsd:decimal ; rdfs:label "output"@en, "Ausstoß"@de, "production annuelle"@fr, "producción anual"@es .
:director a owl:ObjectProperty ; rdfs:domain :Brewery ; rdfs:range :Person ; rdfs:label "director"@en, "Geschäftsführer"@de, "directeur"@fr, "director"@es .
:birthDate a owl:DatatypeProperty ; rdfs:domain :Person ; rdfs:range xsd:date ; rdfs:label "birth date"@en, "Geburtsdatum"@de, "date de naissance"@fr, "fecha de nacimiento"@es .
:birthPlace a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :City ; rdfs:label "birth place"@en, "Geburtsort"@de, "lieu de naissance"@fr, "lugar de nacimiento"@es .
:brewedBy a owl:ObjectProperty ; rdfs:domain :Beer ; rdfs:range :Brewery ; rdfs:label "brewed by"@en, "gebraut von"@de, "brassée par"@fr, "elaborada por"@es .
`

/** Eighteen facts each, and sentences that deny or doubt one. */
export const prose = {
  de: `Die Brauerei Nordlicht wurde am 3. März 1998 von Ilse Brandt in Kiel gegründet. Nordlicht hat ihren Sitz in Kiel und beschäftigt 1.250 Mitarbeiter. Der Ausstoß der Brauerei beträgt 12,5 Millionen Liter. Geschäftsführerin von Nordlicht ist Maren Voss.

Ilse Brandt wurde am 4. Mai 1961 in Lübeck geboren. Sie gründete 2004 die Brauerei Sandbank. Das Bier „Strandgut“ wird von Nordlicht gebraut. Die Brauerei Sandbank hat keinen Sitz in Hamburg. Jonas Feld soll die Brauerei Ebbe gegründet haben.

Im Jahr 2011 gründete Jonas Feld die Brauerei Deichkrone. Der Sitz der Brauerei Deichkrone ist Husum. Gründer der Brauerei Flutlicht ist Peer Holm, der am 17.02.1970 in Flensburg geboren wurde.
`,
  fr: `La brasserie Nordlys a été fondée le 3 mars 1998 par Claire Morel à Lyon. Nordlys a son siège à Lyon et emploie 1 250 salariés. Le directeur de Nordlys est Paul Petit. La production annuelle de la brasserie est de 12,5 millions de litres.

Claire Morel est née le 4 mai 1961 à Lille. Elle a fondé la brasserie Sablière en 2004. La bière « Marée Haute » est brassée par Nordlys. La brasserie Sablière n'a pas son siège à Paris. Jean Roux aurait fondé la brasserie Écume.

En 2011, Jean Roux fonda la brasserie Couronne. Le siège de la brasserie Couronne se trouve à Nantes. Le fondateur de la brasserie Flambeau est Marc Dubois, né le 1er février 1970 à Brest.
`,
  es: `La cervecera Norteluz fue fundada el 3 de marzo de 1998 por Clara Ruiz en Bilbao. Norteluz tiene su sede en Bilbao y emplea a 1.250 empleados. El director de Norteluz es Pablo Gil. La producción anual de la cervecera es de 12,5 millones de litros.

Clara Ruiz nació el 4 de mayo de 1961 en León. Fundó la cervecera Arenal en 2004. La cerveza «Marea Alta» es elaborada por Norteluz. La cervecera Arenal no tiene su sede en Madrid. Juan Rojo habría fundado la cervecera Espuma.

En 2011, Juan Rojo fundó la cervecera Corona. La sede de la cervecera Corona está en Vigo. El fundador de la cervecera Faro es Marcos Soler, nacido el 17/02/1970 en Gijón.
`,
} as const

/** Languages without a reader. */
export const others = {
  nl: `De brouwerij Noorderlicht werd op 3 maart 1998 door Ilse de Boer in Groningen opgericht. Het bedrijf heeft 1250 werknemers en is gevestigd in Groningen. De oprichter is ook directeur van het bedrijf.
`,
  ja: `北光醸造は1998年3月3日に山田花子によって札幌で設立された。本社は札幌にあり、従業員は1250人である。
`,
} as const

export const facts = {
  de: [
    "Brauerei Deichkrone | founder | Jonas Feld",
    "Brauerei Deichkrone | foundingYear | 2011",
    "Brauerei Deichkrone | headquarters | Husum",
    "Brauerei Flutlicht | founder | Peer Holm",
    "Brauerei Sandbank | founder | Ilse Brandt",
    "Brauerei Sandbank | foundingYear | 2004",
    "Ilse Brandt | birthDate | 1961-05-04",
    "Ilse Brandt | birthPlace | Lübeck",
    "Nordlicht | director | Maren Voss",
    "Nordlicht | employees | 1250",
    "Nordlicht | founder | Ilse Brandt",
    "Nordlicht | foundingDate | 1998-03-03",
    "Nordlicht | foundingYear | 1998",
    "Nordlicht | headquarters | Kiel",
    "Nordlicht | output | 12500000",
    "Peer Holm | birthDate | 1970-02-17",
    "Peer Holm | birthPlace | Flensburg",
    "Strandgut | brewedBy | Nordlicht",
  ],
  fr: [
    "Claire Morel | birthDate | 1961-05-04",
    "Claire Morel | birthPlace | Lille",
    "Couronne | founder | Jean Roux",
    "Couronne | foundingYear | 2011",
    "Couronne | headquarters | Nantes",
    "Flambeau | founder | Marc Dubois",
    "Marc Dubois | birthDate | 1970-02-01",
    "Marc Dubois | birthPlace | Brest",
    "Marée Haute | brewedBy | Nordlys",
    "Nordlys | director | Paul Petit",
    "Nordlys | employees | 1250",
    "Nordlys | founder | Claire Morel",
    "Nordlys | foundingDate | 1998-03-03",
    "Nordlys | foundingYear | 1998",
    "Nordlys | headquarters | Lyon",
    "Nordlys | output | 12500000",
    "Sablière | founder | Claire Morel",
    "Sablière | foundingYear | 2004",
  ],
  es: [
    "Arenal | founder | Clara Ruiz",
    "Arenal | foundingYear | 2004",
    "Clara Ruiz | birthDate | 1961-05-04",
    "Clara Ruiz | birthPlace | León",
    "Corona | founder | Juan Rojo",
    "Corona | foundingYear | 2011",
    "Corona | headquarters | Vigo",
    "Faro | founder | Marcos Soler",
    "Marcos Soler | birthDate | 1970-02-17",
    "Marcos Soler | birthPlace | Gijón",
    "Marea Alta | brewedBy | Norteluz",
    "Norteluz | director | Pablo Gil",
    "Norteluz | employees | 1250",
    "Norteluz | founder | Clara Ruiz",
    "Norteluz | foundingDate | 1998-03-03",
    "Norteluz | foundingYear | 1998",
    "Norteluz | headquarters | Bilbao",
    "Norteluz | output | 12500000",
  ],
} as const
