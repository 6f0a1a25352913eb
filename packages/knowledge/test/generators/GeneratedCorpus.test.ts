import { expect, it } from "vitest"
import { documentAt, generateCorpus } from "../../generators/GeneratedCorpus.ts"
import { pairwise } from "../../generators/PairwiseScore.ts"
import { Resolver } from "../../src/resolve/Resolver.ts"

const options = { documents: 2000, seed: 7 }

it("gives the same documents for the same options, each without those before it", () => {
  const documents = [...generateCorpus(options)]
  expect(documentAt(options, 1234)).toEqual(documents[1234])
  expect(documentAt({ ...options, seed: 8 }, 1234)).not.toEqual(documents[1234])
})

it("writes every name and value it claims into the text", () => {
  for (const { text, format, facts } of generateCorpus(options)) {
    const plain = format === "json" || format === "csv" ? text.replaceAll('""', '"') : text
    for (const { subject, object } of facts) {
      expect(plain).toContain(subject.name)
      expect(plain).toContain(typeof object === "string" ? object : object.name)
    }
  }
})

it("has entities under several names, contradictions, other scripts, and every format", () => {
  const documents = [...generateCorpus(options)]
  const names = Map.groupBy(
    documents.flatMap(({ mentions }) => mentions),
    ({ entity }) => entity,
  )
  const several = [...names.values()].filter((mentions) => new Set(mentions.map(({ name }) => name)).size > 1)
  expect(several.length).toBeGreaterThan(names.size / 4)
  expect(documents.some(({ facts }) => facts.some(({ holds }) => !holds))).toBe(true)
  expect(documents.some(({ text }) => /\p{Script=Cyrillic}/u.test(text))).toBe(true)
  expect(documents.some(({ text }) => /\p{Script=Han}/u.test(text))).toBe(true)
  expect(new Set(documents.map(({ format }) => format)).size).toBe(5)
})

it("is resolved with a pairwise F1 of at least 0.95, never across types or scripts", () => {
  const resolver = new Resolver()
  const truth: Array<string> = []
  const documents = [...generateCorpus({ documents: 20_000, seed: 11 })]
  for (const { mentions } of documents) {
    resolver.addDocument(mentions)
    truth.push(...mentions.map(({ entity }) => entity))
  }
  const { clusters, clusterOf } = resolver.resolve()
  const score = pairwise(truth, clusterOf)
  expect(score.f1).toBeGreaterThanOrEqual(0.95)
  for (const { names } of clusters)
    expect(names.some((name) => /\p{Script=Latin}/u.test(name)) && names.some((name) => /\p{Script=Han}/u.test(name))).toBe(false)
  const typesOf = Map.groupBy(
    documents.flatMap(({ mentions }) => mentions).map(({ type }, index) => [clusterOf[index], type] as const),
    ([cluster]) => cluster,
  )
  for (const types of typesOf.values()) expect(new Set(types.map(([, type]) => type)).size).toBe(1)
})
