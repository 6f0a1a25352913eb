/** Chooses the property or class of a graph that the user names: by its IRI, the last part of the IRI, or the words of that part. */
import { localName } from "@detent/knowledge"
import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { NothingFound, WrongUsage } from "../Failure.ts"

type GraphVersion = Parameters<typeof explore.factProperties>[0]

/** How many terms of the graph an error names. */
const namedAtMost = 10

const isIri = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\S+$/i.test(text)

/** `foundingYear`, `founding year` and `Founding-Year` have the same key. */
const keyOf = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

export const chooseProperty = (version: GraphVersion, name: string | undefined) =>
  choose(name, "property", "properties", explore.factProperties(version, { timeout: "30 seconds" }))

export const chooseClass = (version: GraphVersion, name: string | undefined) =>
  choose(name, "class", "classes", explore.entityClasses(version, { timeout: "30 seconds" }))

const choose = <E, R>(
  name: string | undefined,
  kind: "property" | "class",
  kinds: string,
  terms: Effect.Effect<ReadonlyArray<{ readonly iri: string }>, E, R>,
): Effect.Effect<string | undefined, E | NothingFound | WrongUsage, R> =>
  Effect.gen(function* () {
    if (name === undefined || isIri(name)) return name
    const all = (yield* terms).map(({ iri }) => iri)
    const exact = all.filter((iri) => localName(iri) === name)
    const [first, ...others] = exact.length > 0 ? exact : all.filter((iri) => keyOf(localName(iri)) === keyOf(name))
    if (first === undefined) {
      const known = all.slice(0, namedAtMost).map(localName).join(", ")
      return yield* new NothingFound({
        what: `${kind} ${JSON.stringify(name)} in the graph`,
        nextStep:
          all.length > namedAtMost ? `some of its ${kinds}: ${known}; all of them: detent graph vocabulary` : `it has: ${known || "none"}`,
      })
    }
    if (others.length > 0)
      return yield* new WrongUsage({
        problem: `the graph has several ${kinds} with the name ${JSON.stringify(name)}`,
        nextStep: `give the IRI of one: ${[first, ...others].slice(0, namedAtMost).join(", ")}`,
      })
    return first
  })
