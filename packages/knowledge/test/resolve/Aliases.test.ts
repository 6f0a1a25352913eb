/** Names of one entity that are not the same words: with its class, without it, and under two classes. */
import { describe, expect, it } from "@effect/vitest"
import { type ClassNames, Resolver } from "../../src/resolve/Resolver.ts"

const sky = "https://example.org/sky#"
const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  [`${sky}Comet`]: ["comet"],
  [`${sky}City`]: ["city"],
  [`${sky}Observatory`]: ["observatory"],
  [`${sky}Organisation`]: ["organisation"],
  [`${sky}Person`]: ["person"],
}
const disjoint = new Set([`${sky}City ${sky}Person`, `${sky}Person ${sky}City`])

const classes: ClassNames = {
  labels: (type) => names[type] ?? [],
  areDisjoint: (one, other) => disjoint.has(`${one} ${other}`),
}

/** The documents as lists of `Class:name`; gives the cluster of each mention. */
const clustersOf = (...documents: ReadonlyArray<ReadonlyArray<string>>) => {
  const resolver = new Resolver(undefined, classes)
  for (const document of documents)
    resolver.addDocument(
      document.map((mention) => {
        const [type = "", name = ""] = mention.split(":")
        return { type: `${sky}${type}`, name }
      }),
    )
  const { clusterOf } = resolver.resolve()
  return [...clusterOf]
}

describe("alias forms", () => {
  it("takes a name with and without its class for one, across documents", () => {
    const [full, short, other] = clustersOf(["Comet:Comet Halgrim"], ["Comet:Halgrim"], ["Comet:Comet Borrelson"])
    expect(short).toBe(full)
    expect(other).not.toBe(full)
    const [city, plain] = clustersOf(["City:Port Verran City"], ["City:Port Verran"])
    expect(plain).toBe(city)
  })

  it("keeps a name apart that is nothing but its class", () => {
    const [one, other] = clustersOf(["Comet:Comet"], ["Comet:Halgrim"])
    expect(one).not.toBe(other)
  })

  it("gives one entity to a name that one document puts under two classes", () => {
    const [place, owner, elsewhere] = clustersOf(
      ["Observatory:Halgrim Peak Observatory", "Organisation:Halgrim Peak Observatory"],
      ["Organisation:Halgrim Peak Observatory"],
    )
    expect(owner).toBe(place)
    expect(elsewhere).toBe(place)
  })

  it("keeps classes apart that exclude each other, and names of one word", () => {
    const [city, person] = clustersOf(["City:Lena Moss", "Person:Lena Moss"])
    expect(person).not.toBe(city)
    const [place, owner] = clustersOf(["Observatory:Halgrim", "Organisation:Halgrim"])
    expect(owner).not.toBe(place)
  })
})
