/**
 * The counts of an extraction, read from what its documents have stored: the same numbers however the documents were extracted, by one
 * process or by many.
 */

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Usage } from "../extract/Extractor.ts"
import { CanonicalGraph } from "../graph/CanonicalGraph.ts"
import type { RunResult } from "../runs/ExtractionWorkflow.ts"
import { Extractors } from "../runs/Extractors.ts"
import { RunStore } from "../runs/RunStore.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { type BatchUsage, type LanguageCount, type S, selectionOf } from "./BatchState.ts"
import type { Manifest } from "./Manifest.ts"

type Extracting = typeof S.Extracting.Type

/** The counts so far, without those that only the end of the extraction needs. */
export const countedSoFar = ({ batchId, config }: Pick<Extracting, "batchId" | "config">) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    const runs = yield* RunStore
    const extractors = yield* Extractors
    const { completed, failed, "set-aside": setAside } = yield* log.counts(batchId)
    const { entities, facts, forReview, usage: stored } = yield* runs.totals({ batchId })
    const { succeeded } = yield* runs.counts(batchId)
    // The account of this process also knows the calls whose answers were not stored; with many processes, only the rows know them all.
    const charged = yield* extractors.spent(batchId)
    const usage = charged === undefined || charged.calls < stored.calls ? stored : charged
    const { currency } = extractors.estimator(selectionOf(config))
    return {
      documentsCompleted: completed,
      documentsFailed: failed,
      documentsSetAside: setAside,
      // An unchanged document has no run in this batch.
      documentsUnchanged: Math.max(0, completed - succeeded),
      entityCount: entities,
      relationCount: facts,
      reviewCount: forReview,
      ...(usage.calls === 0 ? {} : { usage: usageOf({ ...usage, currency }) }),
    }
  })

/** The counts of an extraction whose documents have all ended. */
export const countedAtEnd = (state: Extracting, { documents }: Manifest) =>
  Effect.gen(function* () {
    const { batchId, targetNamespace } = state
    const runs = yield* RunStore
    const canonical = yield* CanonicalGraph
    const log = yield* BatchEventLog
    const misfits = yield* runs.misfits(batchId)
    const skipped = yield* runs.skipped(batchId)
    const refused = yield* runs.refused(batchId)
    const notRead = yield* runs.notRead(batchId)
    const succeeded = (yield* runs.ofBatch(batchId)).filter(({ status }) => status === "succeeded")
    const own = new Set<string>(succeeded.map(({ documentId }) => documentId))
    const others = documents.flatMap(({ documentId }) => (own.has(documentId) ? [] : [documentId]))
    const languages = new LanguageCounts()
    for (const run of succeeded) languages.add(run)
    if (others.length > 0) {
      const standings = yield* log.standings(batchId, others)
      const current = yield* canonical.current(targetNamespace)
      const known = Option.isNone(current) ? undefined : yield* canonical.documents(current.value, { without: batchId })
      for (const id of others) if (standings.get(id)?.status === "completed") languages.add(known?.get(id) ?? {})
    }
    return {
      ...(yield* countedSoFar(state)),
      ...(misfits === undefined ? {} : { misfits }),
      ...(skipped === undefined ? {} : { skipped }),
      ...(refused === undefined ? {} : { refused }),
      ...(notRead === undefined ? {} : { notRead }),
      languages: languages.counted(),
    }
  })

type Spoken = Pick<RunResult, "language" | "unread">

/** Counts the documents of each language, and how many of them had prose that was not read. */
export class LanguageCounts {
  readonly #counts = new Map<string, { documents: number; unread: number; reason: Spoken["unread"] }>()

  add({ language = "und", unread }: Spoken): void {
    const count = this.#counts.get(language) ?? { documents: 0, unread: 0, reason: undefined }
    count.documents++
    if (unread !== undefined) count.unread++
    count.reason ??= unread
    this.#counts.set(language, count)
  }

  counted(): ReadonlyArray<LanguageCount> {
    return [...this.#counts]
      .map(([language, { documents, unread, reason }]) => ({
        language,
        documents,
        ...(unread === 0 ? {} : { unread }),
        ...(reason === undefined ? {} : { reason }),
      }))
      .sort((one, other) => other.documents - one.documents || (one.language < other.language ? -1 : 1))
  }
}

/** Model usage as the batch stores it: whole tokens, and the cost rounded to nine decimals. */
export const usageOf = ({ calls, inputTokens, outputTokens, cost, currency }: Usage & { readonly currency?: string }): BatchUsage => ({
  calls,
  inputTokens: Math.round(inputTokens),
  outputTokens: Math.round(outputTokens),
  ...(cost === undefined ? {} : { cost: Number(cost.toFixed(9)) }),
  ...(cost === undefined || currency === undefined ? {} : { currency }),
})
