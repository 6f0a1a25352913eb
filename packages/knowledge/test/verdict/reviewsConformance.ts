/** A review list on a store: listed, counted, decided on, by one reviewer and by two at once. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import { GraphFacts } from "../../src/graph/GraphFacts.ts"
import { Reviews } from "../../src/verdict/Reviews.ts"
import { base, canonical, harbour, type Setting, sea } from "../batch/sea.ts"
import { completed, factOf, files, hesitant, passings } from "./unsure.ts"

export const reviewsConformance = (name: string, stored: Effect.Effect<Pick<Setting, "store">, unknown, Scope.Scope>) =>
  describe(`the review list of a batch on ${name}`, () => {
    it.live("has each unsure fact with its words, its document and the reason, in pages", () =>
      Effect.gen(function* () {
        const { layer, folder, input } = yield* harbour({ files, extractor: hesitant(), ...(yield* stored) })
        yield* Effect.gen(function* () {
          const { id, end } = yield* completed(folder)
          const reviews = yield* Reviews
          const first = yield* reviews.list(id, { limit: 2 })
          const second = yield* reviews.list(id, { limit: 2, ...(first.next === undefined ? {} : { after: first.next }) })
          expect(first.facts).toHaveLength(2)
          expect(second.facts).toHaveLength(1)
          expect(second.next).toBeUndefined()
          const all = [...first.facts, ...second.facts]
          expect(all.map(({ quote }) => quote).toSorted()).toEqual([
            "ShipAlba maybe passed ShipDorado",
            "ShipCetus maybe passed ShipDorado",
            "ShipElektra maybe passed ShipFjord",
          ])
          const cetus = yield* factOf(id, "ShipCetus")
          expect(cetus).toMatchObject({
            status: "open",
            property: `${base}passed`,
            object: "ShipDorado",
            confidence: 0.3,
            extractor: "lookout",
            why: "the confidence of the fact is 0.3, less than 0.5",
          })
          expect(cetus.source).toContain(`${input}/one.txt`)
          expect(files["one.txt"].slice(cetus.start, cetus.end)).toBe(cetus.quote)
          expect(yield* reviews.counts(id)).toEqual({ open: 3, accepted: 0, rejected: 0 })
          expect(end.stats.forReview).toBe(3)
          expect((yield* reviews.list(id, { property: "passed", below: 0.3 })).facts).toEqual([])
          expect((yield* reviews.list(id, { property: "passed", below: 0.31 })).facts).toHaveLength(3)
          expect((yield* reviews.list(id, { property: "sank" })).facts).toEqual([])
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("gives an accepted fact to the graph: under the IRIs the entities have, with its words and who accepted it", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files, extractor: hesitant(), ...(yield* stored) })
        yield* Effect.gen(function* () {
          const { id } = yield* completed(folder)
          expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas"])
          const cetus = yield* factOf(id, "ShipCetus")
          const before = yield* canonical(data)
          const reviews = yield* Reviews
          const outcome = yield* reviews.accept(id, { facts: [cetus.factId] }, "ada")
          expect(outcome).toMatchObject({
            decided: 1,
            unchanged: 0,
            refused: [],
            remaining: 0,
            review: { open: 2, accepted: 1, rejected: 0 },
          })
          expect(yield* passings(data)).toEqual(["ShipAlba passed ShipBoreas", "ShipCetus passed ShipDorado"])
          const after = yield* canonical(data)
          // The entities of the fact come with it: before, no fact of the graph spoke of them.
          const labels = (lines: ReadonlyArray<string>) =>
            lines.flatMap((line) => (line.includes("#label>") ? [/"(.*)"/.exec(line)?.[1]] : [])).sort()
          expect(labels(before.lines)).toEqual(["ShipAlba", "ShipBoreas"])
          expect(labels(after.lines)).toEqual(["ShipAlba", "ShipBoreas", "ShipCetus", "ShipDorado"])
          expect(after.lines).toEqual(expect.arrayContaining([...before.lines]))
          expect(after.published).toContain("ShipCetus maybe passed ShipDorado")
          const graph = yield* Effect.flatMap(CanonicalGraph, (one) => one.current(sea))
          const subject =
            after.lines
              .find((line) => line.includes("#label>") && line.includes("ShipCetus"))
              ?.split(" ")[0]
              ?.slice(1, -1) ?? ""
          const { items } = yield* (yield* GraphFacts).factsOf(Option.getOrThrow(graph), subject)
          expect(items).toMatchObject([
            { quote: cetus.quote, start: cetus.start, end: cetus.end, documentId: cetus.documentId, acceptedBy: "ada", confidence: 0.3 },
          ])
          const attributed = after.lines.filter((line) => line.includes("wasAttributedTo"))
          expect(attributed).toHaveLength(1)
          expect(attributed[0]).toContain("<urn:detent:agent:ada>")
          expect(yield* factOf(id, "ShipCetus")).toMatchObject({ status: "accepted", decidedBy: "ada" })
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("takes a decision back: the graph is as it was, the fact is open, and its history says who decided what", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files, extractor: hesitant(), ...(yield* stored) })
        yield* Effect.gen(function* () {
          const { id } = yield* completed(folder)
          const before = yield* canonical(data)
          const [cetus, alba] = [yield* factOf(id, "ShipCetus"), yield* factOf(id, "ShipAlba")]
          const reviews = yield* Reviews
          yield* reviews.accept(id, { facts: [cetus.factId] }, "ada")
          yield* reviews.reject(id, { facts: [alba.factId] }, "ada")
          const reopened = yield* reviews.reopen(
            id,
            { facts: [cetus.factId, alba.factId, (yield* factOf(id, "ShipElektra")).factId] },
            "bo",
          )
          expect(reopened).toMatchObject({
            decided: 2,
            unchanged: 1,
            refused: [],
            remaining: 0,
            review: { open: 3, accepted: 0, rejected: 0 },
          })
          expect((yield* canonical(data)).lines).toEqual(before.lines)
          const open = yield* factOf(id, "ShipCetus")
          expect(open).toMatchObject({
            status: "open",
            history: [
              { verdict: "accepted", by: "ada" },
              { verdict: "reopened", by: "bo" },
            ],
          })
          expect(open.decidedBy).toBeUndefined()
          expect(open.history?.[1]?.at).toBeGreaterThanOrEqual(open.history?.[0]?.at ?? Number.NaN)
          // It can be decided again, in another name and otherwise.
          expect(yield* reviews.accept(id, { facts: [cetus.factId, alba.factId] }, "cy")).toMatchObject({ decided: 2, refused: [] })
          expect((yield* canonical(data)).lines.filter((line) => line.includes('acceptedBy> "cy"'))).toHaveLength(2)
          expect(yield* reviews.reopen(id, { all: true }, "bo")).toMatchObject({ decided: 2, remaining: 0 })
          expect((yield* factOf(id, "ShipAlba")).history?.map(({ verdict, by }) => `${by} ${verdict}`)).toEqual([
            "ada rejected",
            "bo reopened",
            "cy accepted",
            "bo reopened",
          ])
          expect((yield* canonical(data)).lines).toEqual(before.lines)
        }).pipe(Effect.provide(layer))
      }),
    )

    it.live("lets the first of two reviewers decide, and tells the second who did", () =>
      Effect.gen(function* () {
        const { layer, folder, data } = yield* harbour({ files, extractor: hesitant(), ...(yield* stored) })
        yield* Effect.gen(function* () {
          const { id } = yield* completed(folder)
          const reviews = yield* Reviews
          const { facts } = yield* reviews.list(id)
          const all = { facts: facts.map(({ factId }) => factId) }
          const [ada, bo] = yield* Effect.all([reviews.accept(id, all, "ada"), reviews.reject(id, all, "bo")], { concurrency: 2 })
          expect(ada.decided + bo.decided).toBe(3)
          expect(ada.refused.length + bo.refused.length).toBe(3)
          for (const { problem } of ada.refused) expect(problem).toMatch(/^bo rejected it at 2/)
          for (const { problem } of bo.refused) expect(problem).toMatch(/^ada accepted it at 2/)
          expect(yield* reviews.counts(id)).toEqual({ open: 0, accepted: ada.decided, rejected: bo.decided })
          expect(yield* passings(data)).toHaveLength(1 + ada.decided)
          expect(yield* reviews.accept(id, { all: true }, "ada")).toMatchObject({ decided: 0, unchanged: 0, refused: [] })
        }).pipe(Effect.provide(layer))
      }),
    )
  })
