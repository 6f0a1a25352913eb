import { describe, expect, it } from "vitest"
import { canonicalIri } from "../../src/resolve/ResolvedGraph.ts"
import { type Identifier, type NamedMention, Resolver } from "../../src/resolve/Resolver.ts"

const person = "https://example.org/Person"
const company = "https://example.org/Company"

/** The names of each entity that came out, one document per name unless documents are given. */
const entities = (documents: ReadonlyArray<ReadonlyArray<NamedMention>>): ReadonlyArray<ReadonlyArray<string>> => {
  const resolver = new Resolver()
  for (const document of documents) resolver.addDocument(document)
  const { clusters, clusterOf } = resolver.resolve()
  const names = documents.flat().map(({ name }) => name)
  return clusters.map((_, cluster) => names.filter((_, index) => clusterOf[index] === cluster)).filter((group) => group.length > 0)
}

const people = (...names: ReadonlyArray<string>) => names.map((name) => [{ type: person, name }])
const companies = (...names: ReadonlyArray<string>) => names.map((name) => [{ type: company, name }])
const identified = (name: string, ...identifiers: ReadonlyArray<Identifier>) => [{ type: person, name, identifiers }]

const above = (type: string) => new Set(type === company || type === person ? ["urn:Agent"] : [])

describe("what becomes one entity", () => {
  it.each([
    ["case and accents", ["Maria López", "MARIA LOPEZ"]],
    ["a title", ["Maria Lopez", "Dr. Maria Lopez"]],
    ["the surname first", ["Maria Lopez", "Lopez, Maria"]],
    ["an apostrophe", ["Sean O'Neill", "Sean O’Neill"]],
    ["an article", ["Museum of the Sea", "The Museum of the Sea"]],
    ["Cyrillic case", ["Анна Каренина", "АННА КАРЕНИНА"]],
    ["a letter without an accent to take off", ["Søren Kierkegaard", "Soren Kierkegaard"]],
  ])("%s", (_, names) => {
    expect(entities(people(...names))).toEqual([names])
  })

  it("a legal ending", () => {
    expect(entities(companies("Harbour Light Inc.", "Harbour Light"))).toEqual([["Harbour Light Inc.", "Harbour Light"]])
  })

  it.each([
    ["an acronym", company, ["Northern Tidal Energy", "NTE"]],
    ["initials", person, ["Maria Elena Lopez", "M. E. Lopez"]],
  ])("%s in the document of its only bearer", (_, type, names) => {
    expect(entities([names.map((name) => ({ type, name }))])).toEqual([names])
  })

  it("a surname in the document of its only bearer", () => {
    const documents = [["Maria Lopez", "Lopez"], ["Lopez"]].map((names) => names.map((name) => ({ type: person, name })))
    expect(entities(documents)).toEqual([["Maria Lopez", "Lopez"], ["Lopez"]])
  })

  it("different names with one identifier", () => {
    const documents = [identified("Maria Lopez", ["orcid", "7"]), identified("M. E. Lopez-Garcia", ["orcid", "7"])]
    expect(entities(documents)).toEqual([["Maria Lopez", "M. E. Lopez-Garcia"]])
  })
})

const birth = "https://example.org/birthYear"
const born = (name: string, year?: string) => [{ type: person, name, values: year === undefined ? [] : [[birth, year] as const] }]

/** What the names are proposed for, and how many entities they are. */
const proposed = (documents: ReadonlyArray<ReadonlyArray<NamedMention>>) => {
  const resolver = new Resolver()
  for (const document of documents) resolver.addDocument(document)
  const { clusters, proposals } = resolver.resolve()
  return { entities: clusters.length, proposals: proposals.map(({ left, right, reason }) => `${left} = ${right} (${reason})`) }
}

describe("what spelling alone suggests", () => {
  it.each([
    ["slip", people("Hereford", "Hartford")],
    ["slip", people("Stafford", "Stamford")],
    ["slip", companies("graphql", "graphiql")],
    ["slip", people("Katharina Brandmeier", "Katharina Brandmeyer")],
    ["slip", people("Katharina Brandmeier", "Katharina Brandmieer")],
    ["initials", people("Maria Lopez", "M. Lopez")],
    ["initials", people("Maria Elena Lopez", "Maria E. Lopez")],
    ["acronym", companies("Northern Tidal Energy", "NTE")],
    ["acronym", companies("Bureau of Coastal Affairs", "BCA")],
  ])("is never joined: %s of %j", (reason, documents) => {
    const { entities, proposals } = proposed(documents)
    expect(entities).toBe(2)
    const [left, right] = documents.flat().map(({ name }) => name)
    // Some pairs differ in more than one letter: those are not even proposed.
    for (const proposal of proposals) expect(proposal).toBe(`${left} = ${right} (${reason})`)
  })

  it("is proposed, unless values contradict it", () => {
    expect(proposed(people("Stafford", "Staffort")).proposals).toEqual(["Stafford = Staffort (slip)"])
    expect(proposed([...born("Oswald Mosley", "1744"), ...born("Oswald Mozley", "1915")].map((one) => [one]))).toEqual({
      entities: 2,
      proposals: [],
    })
  })
})

describe("values of a property that has one value", () => {
  const counted = (...documents: ReadonlyArray<ReadonlyArray<NamedMention>>) => entities(documents).length

  it("keep namesakes apart that they contradict", () => {
    expect(counted(born("Ada Sol", "1815"), born("Ada Sol", "1950"))).toBe(2)
    expect(counted(born("Ada Sol", "1815"), born("ADA SOL", "1815"))).toBe(1)
    expect(counted(born("Ada Sol", "1815"), born("Sol, Ada", "1815-12-10"))).toBe(1)
  })

  it("let a mention without them join the one entity of its name, and stay apart from namesakes", () => {
    expect(counted(born("Ada Sol", "1815"), born("Ada Sol"))).toBe(1)
    expect(counted(born("Ada Sol", "1815"), born("Ada Sol", "1950"), born("Ada Sol"))).toBe(3)
  })

  it("of a known entity keep a namesake apart, and take up those that agree", () => {
    const resolver = new Resolver()
    resolver.know({ iri: "urn:known:1", type: person, names: ["Ada Sol"], values: [[birth, "1815"]] })
    for (const year of ["1950", "1815"]) resolver.addDocument(born("Ada Sol", year))
    const { clusters, clusterOf } = resolver.resolve()
    expect([...clusterOf].map((cluster) => clusters[cluster]?.known)).toEqual([undefined, "urn:known:1"])
  })
})

describe("what stays apart", () => {
  it.each([
    ["a short word that differs in a letter", ["Maria Lopez", "Mario Lopez"]],
    ["numbers", ["Apollo Mission 11", "Apollo Mission 13"]],
    ["a surname alone, elsewhere", ["Maria Lopez", "Lopez"]],
    ["an initial that fits two", ["Maria Lopez", "Martin Lopez", "M. Lopez"]],
    ["Han names that differ in a character", ["王小明", "王小红"]],
    ["names in unfamiliar scripts", ["ສົມພອນ", "ບຸນມີ"]],
    ["one name in two scripts", ["Анна", "Anna"]],
    ["letters that look alike in two scripts", ["Aнна Kapeнинa", "Анна Каренина"]],
    ["names of symbols", ["!!!", "???"]],
  ])("%s", (_, names) => {
    expect(entities(people(...names))).toEqual(names.map((name) => [name]))
  })

  it("two spellings that are both in use", () => {
    const names = ["Hansen", "Hanson"].flatMap((surname) => ["Ida", "Per", "Liv"].map((given) => `${given} ${surname}`))
    expect(entities(people(...names))).toHaveLength(names.length)
  })

  it("companies with different legal endings, and the one that names none", () => {
    const names = ["Harbour Light Inc.", "Harbour Light GmbH", "Harbour Light"]
    expect(entities(companies(...names))).toHaveLength(3)
  })

  it("but not a company whose legal ending is written out", () => {
    expect(entities(companies("Harbour Light Inc.", "Harbour Light Incorporated"))).toHaveLength(1)
    expect(
      entities(companies("Harbour Light Corp.", "HARBOUR LIGHT CORPORATION", "Harbour Light Ltd", "Harbour Light Limited")),
    ).toHaveLength(2)
  })

  it("an acronym that fits two", () => {
    expect(entities(companies("Northern Tidal Energy", "National Timber Exchange", "NTE"))).toHaveLength(3)
  })

  it("one name with two identifiers, and the mention that tells none", () => {
    const documents = [identified("Maria Lopez", ["orcid", "7"]), identified("Maria Lopez", ["orcid", "8"]), identified("Maria Lopez")]
    expect(entities(documents)).toHaveLength(3)
  })

  it("one name of two types", () => {
    expect(entities([...people("Jordan"), ...companies("Jordan")])).toHaveLength(2)
  })
})

describe("classes above one another", () => {
  const counted = (...mentions: ReadonlyArray<NamedMention>) => {
    const resolver = new Resolver(above)
    for (const mention of mentions) resolver.addDocument([mention])
    return resolver.resolve().clusters.map(({ type }) => type)
  }

  it("are one type, and the entity is of the lower one", () => {
    expect(counted({ type: "urn:Agent", name: "Harbour Light" }, { type: company, name: "Harbour Light" })).toEqual([company])
  })

  it("leave it open where two lower ones fit", () => {
    const name = "Jordan Marsh"
    expect(counted({ type: "urn:Agent", name }, { type: company, name }, { type: person, name })).toHaveLength(3)
  })
})

describe("known entities", () => {
  it("keep their IRI and take up what fits", () => {
    const resolver = new Resolver()
    resolver.know({ iri: "urn:known:1", type: person, names: ["Maria Lopez"] })
    resolver.addDocument([{ type: person, name: "Dr. Maria López" }])
    const { clusters, clusterOf } = resolver.resolve()
    const cluster = clusters[clusterOf[0] ?? -1]
    expect(cluster && canonicalIri("urn:base/", cluster)).toBe("urn:known:1")
  })

  it("of several classes take up what fits one of them", () => {
    const resolver = new Resolver(above)
    for (const type of [company, "urn:Agent"]) resolver.know({ iri: "urn:known:1", type, names: ["Harbour Light"] })
    resolver.addDocument([{ type: "urn:Agent", name: "Harbour Light" }])
    resolver.addDocument([{ type: company, name: "Harbour Light" }])
    const { clusters } = resolver.resolve()
    expect(clusters).toHaveLength(1)
    expect(clusters[0]).toMatchObject({ type: company, known: "urn:known:1" })
  })

  it("without an identifier take up a mention that has one, as long as there is only one", () => {
    const resolved = (...numbers: ReadonlyArray<string>) => {
      const resolver = new Resolver()
      resolver.know({ iri: "urn:known:1", type: person, names: ["Maria Lopez"] })
      for (const number of numbers) resolver.addDocument([{ type: person, name: "Maria Lopez", identifiers: [["number", number]] }])
      return resolver.resolve().clusters.map(({ known }) => known)
    }
    expect(resolved("7")).toEqual(["urn:known:1"])
    expect(resolved("7", "7")).toEqual(["urn:known:1"])
    expect(resolved("7", "8")).toHaveLength(3)
  })

  it("are never joined with each other by name", () => {
    const resolver = new Resolver()
    resolver.know({ iri: "urn:known:1", type: person, names: ["Maria Lopez"] })
    resolver.know({ iri: "urn:known:2", type: person, names: ["María López"] })
    resolver.addDocument([{ type: person, name: "Maria Lopez" }])
    expect(resolver.resolve().clusters).toHaveLength(3)
  })
})

it("says what was joined and why", () => {
  const resolver = new Resolver()
  for (const name of ["Maria Lopez", "Dr. Maria Lopez"]) resolver.addDocument([{ type: person, name }])
  expect(resolver.resolve().merges.map(({ left, right, reason }) => `${left} = ${right} (${reason})`)).toEqual([
    "Maria Lopez = Dr. Maria Lopez (same words)",
  ])
})

it("gives one name one opaque IRI, whatever else was resolved and whatever its class is called", () => {
  const iriOf = (type: string, ...names: ReadonlyArray<string>) => {
    const resolver = new Resolver()
    for (const name of names) resolver.addDocument([{ type, name }])
    const { clusters, clusterOf } = resolver.resolve()
    const cluster = clusters[clusterOf[0] ?? -1]
    return cluster && canonicalIri("https://example.org/id/", cluster)
  }
  expect(iriOf(company, "Harbour Light")).toBe(iriOf(company, "Harbour Light", "Per Hansen"))
  expect(iriOf(company, "Harbour Light")).toBe(iriOf("https://example.org/Enterprise", "Harbour Light"))
  expect(iriOf(company, "Harbour Light")).toMatch(/^https:\/\/example\.org\/id\/[0-9a-f]{20}$/)
})
