import { describe, expect, it } from "@effect/vitest"
import { askedIn, bearingOf } from "../../src/answer/Bearing.ts"
import type { SourcedFact } from "../../src/graph/GraphFacts.ts"

const fact = (subject: string, property: string, object: string, quote: string): SourcedFact => ({
  subject: { iri: `urn:${subject}`, label: subject },
  property: `https://example.org/sea#${property}`,
  object: { _tag: "Value", text: object, datatype: "http://www.w3.org/2001/XMLSchema#string" },
  confidence: 0.9,
  documentId: "doc-1",
  quote,
  start: 0,
  end: quote.length,
  extractor: "built-in",
  runId: "run",
})

const founded = fact("Halcyon Instruments", "founder", "Ada Sol", "Ada Sol founded Halcyon Instruments in 1984")
const born = fact("Ada Sol", "birthPlace", "Port Verran", "she was born in Port Verran")
const other = fact("Halcyon Days", "author", "Bo Lind", "Halcyon Days by Bo Lind")

const nearest = (question: string) => {
  const asked = askedIn(question)
  return [founded, born, other]
    .map((one) => [one.quote, bearingOf(asked, one)] as const)
    .filter(([, share]) => share > 0)
    .sort(([, one], [, next]) => next - one)
    .map(([quote]) => quote)
}

describe("a fact bears on a question", () => {
  it("with its name and the root of its verb", () => {
    expect(nearest("Who was the founder of Halcyon Instruments?")).toEqual([founded.quote])
  })

  it("with a name that only the entity has, and not its sentence", () => {
    expect(nearest("Where was Ada Sol born?")).toEqual([born.quote, founded.quote])
  })

  it("only with the whole of a name", () => {
    expect(nearest("What did Halcyon Shipping do?")).toEqual([])
  })

  it("without names only with half of the words", () => {
    expect(nearest("what is the birth place?")).toEqual([born.quote])
    expect(nearest("what is the best place to eat fish with friends?")).toEqual([])
  })

  it("with a number", () => {
    expect(nearest("Which company began in 1984?")).toEqual([founded.quote])
  })

  it("never for a question without words", () => {
    expect(nearest("Who is it?")).toEqual([])
    expect(askedIn("???").parts).toEqual([])
  })
})
