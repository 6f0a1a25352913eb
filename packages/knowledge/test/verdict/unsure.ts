/** Documents that an extractor is partly unsure of, and what the graph says of them. */

import type { StorageFolder } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import type { BatchConfig } from "../../src/batch/BatchState.ts"
import type { ExtractorService } from "../../src/extract/Extractor.ts"
import { Reviews } from "../../src/verdict/Reviews.ts"
import { base, canonical, lookout, manifest } from "../batch/sea.ts"

/** As sure of a passing as the text says: "maybe" is 0.3, anything else 0.8. */
export const hesitant = (asked: Array<string> = []): ExtractorService => {
  const sure = lookout(asked)
  return {
    ...sure,
    facts: (chunk, mentions, ontology) =>
      Effect.map(sure.facts(chunk, mentions, ontology), ({ facts, usage }) => ({
        usage,
        facts: facts.map((fact) => ({ ...fact, confidence: fact.quote.includes("maybe") ? 0.3 : 0.8 })),
      })),
  }
}

export const files = {
  "one.txt": "ShipAlba passed ShipBoreas.\n\nShipCetus maybe passed ShipDorado.",
  "two.txt": "ShipElektra maybe passed ShipFjord. ShipAlba maybe passed ShipDorado.",
}

export const completed = (folder: StorageFolder, config: Partial<BatchConfig> = {}, more = {}) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"], more), { config })
    const end = yield* batches.awaitEnd(id)
    if (end._tag !== "Completed") return yield* Effect.die(`the batch ended ${JSON.stringify(end)}`)
    return { id, end }
  })

/** "ShipAlba passed ShipBoreas" for every fact of the graph, by the labels of its entities. */
export const passings = (data: string) =>
  Effect.map(canonical(data), ({ lines }) => {
    const labels = new Map(
      lines.flatMap((line) => {
        const [subject = "", predicate, object = ""] = line.split(" ")
        return predicate?.endsWith("#label>") ? [[subject, JSON.parse(object) as string] as const] : []
      }),
    )
    return lines
      .flatMap((line) => {
        const [subject = "", predicate, object = ""] = line.split(" ")
        return predicate === `<${base}passed>` ? [`${labels.get(subject)} passed ${labels.get(object)}`] : []
      })
      .toSorted()
  })

export const factOf = (id: Parameters<(typeof Reviews)["Service"]["list"]>[0], subject: string) =>
  Effect.gen(function* () {
    const { facts } = yield* (yield* Reviews).list(id)
    const found = facts.find((fact) => fact.subject === subject)
    return found === undefined ? yield* Effect.die(`no fact about ${subject} in ${JSON.stringify(facts)}`) : found
  })
