import { Machine, spawn } from "@detent/machine"
import { assertNeverReaches, assertPath } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Batch, E, S } from "../batch/Batch.ts"
import type { BatchConfig } from "../batch/BatchConfig.ts"
import type { BatchEvent } from "../batch/BatchEvent.ts"
import { simulated } from "../batch/Simulation.ts"

const config: BatchConfig = { concurrency: 1, failurePolicy: "continue-on-failure", enableEntityResolution: true, maxRetries: 2 }
const request = { batchId: "b-1", documentIds: ["one", "two", "three"], config, retryCount: 0 }
const findings = { totalDocuments: 3, entityCount: 6, relationCount: 4 }

const pending = S.Pending(request)
const extracting = S.Extracting({ ...request, ...findings, completedCount: 2, failedCount: 0, progress: 2 / 3 })
const resolving = S.Resolving({ ...request, ...findings, completedCount: 2, failedCount: 1, progress: 0 })
const failed = S.Failed({ ...request, failedCount: 3, error: "all documents failed" })

const complete = (successCount: number) =>
  E.ExtractionComplete({
    successCount,
    failureCount: 3 - successCount,
    totalEntityCount: 3 * successCount,
    totalRelationCount: 2 * successCount,
  })

interface Row {
  readonly from: typeof S.Type
  readonly event: typeof E.Type
  readonly to: typeof S.Type
  /** The published facts, in order. */
  readonly facts: ReadonlyArray<string>
  readonly notes?: string
}

const rows: ReadonlyArray<Row> = [
  {
    from: pending,
    event: E.StartExtraction(),
    to: S.Extracting({
      ...request,
      totalDocuments: 3,
      completedCount: 0,
      failedCount: 0,
      entityCount: 0,
      relationCount: 0,
      progress: 0,
    }),
    facts: ["BatchCreated"],
  },
  {
    from: pending,
    event: E.Cancel(),
    to: S.Cancelled({ batchId: "b-1", completedCount: 0, totalDocuments: 0 }),
    facts: ["BatchFailed"],
  },
  {
    from: pending,
    event: E.Fail({ error: "no disk" }),
    to: S.Failed({ ...request, failedCount: 0, error: "no disk" }),
    facts: ["BatchFailed"],
  },
  {
    from: extracting,
    event: E.DocumentCompleted({ documentId: "three", entityCount: 5, relationCount: 1 }),
    to: { ...extracting, completedCount: 3, entityCount: 11, relationCount: 5, progress: 1 },
    facts: ["DocumentCompleted"],
  },
  {
    from: extracting,
    event: E.DocumentFailed({ documentId: "three", error: "torn" }),
    to: { ...extracting, failedCount: 1, progress: 1 },
    facts: ["DocumentFailed"],
  },
  {
    from: extracting,
    event: complete(2),
    notes: "with resolution",
    to: S.Resolving({ ...request, ...findings, completedCount: 2, failedCount: 1, progress: 0 }),
    facts: ["ResolutionStarted"],
  },
  {
    from: { ...extracting, config: { ...config, enableEntityResolution: false } },
    event: complete(2),
    notes: "without resolution",
    to: S.Completed({ batchId: "b-1", ...findings }),
    facts: ["BatchCompleted"],
  },
  { from: extracting, event: complete(0), notes: "nothing succeeded", to: failed, facts: ["BatchFailed"] },
  {
    from: extracting,
    event: E.Cancel(),
    to: S.Cancelled({ batchId: "b-1", completedCount: 2, totalDocuments: 3 }),
    facts: ["BatchFailed"],
  },
  {
    from: extracting,
    event: E.Fail({ error: "no disk" }),
    to: S.Failed({ ...request, failedCount: 0, error: "no disk" }),
    facts: ["BatchFailed"],
  },
  {
    from: resolving,
    event: E.ResolutionComplete({ mergeCount: 1 }),
    to: S.Completed({ batchId: "b-1", ...findings }),
    facts: ["ResolutionCompleted", "BatchCompleted"],
  },
  {
    from: resolving,
    event: E.Cancel(),
    to: S.Cancelled({ batchId: "b-1", completedCount: 2, totalDocuments: 3 }),
    facts: ["BatchFailed"],
  },
  {
    from: resolving,
    event: E.Fail({ error: "no disk" }),
    to: S.Failed({ ...request, failedCount: 1, error: "no disk" }),
    facts: ["BatchFailed"],
  },
  { from: failed, event: E.Retry(), to: S.Pending({ ...request, retryCount: 1 }), facts: [] },
]

/** A simulation in which a document takes a second, with its facts, statuses and processed documents. */
const makeWorld = (broken: ReadonlyArray<string> = []) => {
  const facts: Array<BatchEvent> = []
  const statuses: Array<string> = []
  const processed: Array<string> = []
  const world = {
    millisPerDocument: 1000,
    isBroken: (documentId: string) => {
      processed.push(documentId)
      return broken.includes(documentId)
    },
    emit: (fact: BatchEvent) => void facts.push(fact),
    persist: (_: string, status: string) => void statuses.push(status),
  }
  const factTags = () => facts.map((fact) => fact._tag)
  return { machine: simulated(world), facts, factTags, statuses, processed }
}

describe("the batch's transition table", () => {
  const { machine } = makeWorld()
  for (const { from, event, to, facts, notes } of rows) {
    const title = `${from._tag} on ${event._tag} becomes ${to._tag}${notes === undefined ? "" : ` (${notes})`}`
    it.effect(title, () =>
      Effect.sync(() => {
        const decision = Machine.decide(machine, from, event, 5)
        expect(decision).toMatchObject({ _tag: from._tag === to._tag ? "Stay" : "Goto", state: to })
        const requests = "requests" in decision ? decision.requests : []
        const emitted = requests.filter(({ slot }) => slot === "emitBatchEvent").map(({ parameters }) => parameters)
        expect(emitted).toMatchObject(facts.map((fact) => ({ event: { _tag: fact, batchId: "b-1", at: 5 } })))
        const persisted = requests.filter(({ slot }) => slot === "persistState").map(({ parameters }) => parameters)
        expect(persisted).toEqual(from._tag === to._tag ? [] : [{ batchId: "b-1", status: to._tag }])
      }),
    )
  }

  it.effect("has no other rows", () =>
    Effect.sync(() => {
      const states = [pending, extracting, resolving, failed]
      const events = [...new Map(rows.map(({ event }) => [event._tag, event])).values()]
      expect(events.map((event) => event._tag).sort()).toEqual([...E.$tags].sort())
      const handled = states.flatMap((from) =>
        events.filter((event) => Machine.decide(machine, from, event)._tag !== "Refused").map((event) => `${from._tag} ${event._tag}`),
      )
      expect(handled.sort()).toEqual([...new Set(rows.map(({ from, event }) => `${from._tag} ${event._tag}`))].sort())
    }),
  )
})

describe("a batch", () => {
  it.effect("is not resolved where resolution is switched off", () =>
    Effect.sync(() => {
      const guards = { isResolutionEnabled: () => false }
      assertNeverReaches(Batch, pending, [E.StartExtraction(), complete(3)], "Resolving", { guards })
      assertPath(Batch, pending, [E.StartExtraction(), complete(3)], ["Pending", "Extracting", "Completed"], { guards })
    }),
  )

  it.effect("extracts, resolves and completes, and publishes its events", () =>
    Effect.gen(function* () {
      const { machine, factTags, statuses } = makeWorld(["two"])
      const batch = yield* spawn(machine, request)
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("4 seconds")
      expect(yield* batch.awaitFinal).toEqual(S.Completed({ batchId: "b-1", ...findings }))
      expect(factTags()).toEqual([
        "BatchCreated",
        "DocumentCompleted",
        "DocumentFailed",
        "DocumentCompleted",
        "ResolutionStarted",
        "ResolutionCompleted",
        "BatchCompleted",
      ])
      expect(statuses).toEqual(["Pending", "Extracting", "Resolving", "Completed"])
    }),
  )

  it.effect("continues extracting while documents are completed", () =>
    Effect.gen(function* () {
      const { machine, facts, factTags } = makeWorld()
      const batch = yield* spawn(machine, request)
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("1 second")
      expect(yield* batch.state).toMatchObject({ _tag: "Extracting", completedCount: 1, progress: 1 / 3 })
      yield* TestClock.adjust("1 second")
      expect(yield* batch.state).toMatchObject({ _tag: "Extracting", completedCount: 2 })
      // If the extraction had restarted after the first document, it would have begun with that document again.
      expect(facts.flatMap((fact) => (fact._tag === "DocumentCompleted" ? [fact.documentId] : []))).toEqual(["one", "two"])
      expect(factTags()).toEqual(["BatchCreated", "DocumentCompleted", "DocumentCompleted"])
    }),
  )

  it.effect("processes nothing more once it is cancelled", () =>
    Effect.gen(function* () {
      const { machine, factTags, processed } = makeWorld()
      const batch = yield* spawn(machine, request)
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("1500 millis")
      yield* batch.send(E.Cancel())
      expect(yield* batch.awaitFinal).toEqual(S.Cancelled({ batchId: "b-1", completedCount: 1, totalDocuments: 3 }))
      yield* TestClock.adjust("1 hour")
      expect(processed).toEqual(["one"])
      expect(factTags()).toEqual(["BatchCreated", "DocumentCompleted", "BatchFailed"])
    }),
  )

  it.effect("reports how many documents had failed when it was cancelled", () =>
    Effect.gen(function* () {
      const { machine, facts } = makeWorld(["one"])
      const batch = yield* spawn(machine, request)
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("1 second")
      yield* batch.send(E.Cancel())
      expect(facts.at(-1)).toMatchObject({ _tag: "BatchFailed", error: "cancelled", failedDocuments: 1 })
    }),
  )

  it.effect("extracts as many documents at a time as its concurrency allows", () =>
    Effect.gen(function* () {
      const { machine } = makeWorld()
      const batch = yield* spawn(machine, { ...request, config: { ...config, concurrency: 3 } })
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("1 second")
      expect((yield* batch.state)._tag).toBe("Resolving")
    }),
  )

  it.effect("fails at the first failed document under the policy abort-all", () =>
    Effect.gen(function* () {
      const { machine, factTags } = makeWorld(["one"])
      const batch = yield* spawn(machine, { ...request, config: { ...config, failurePolicy: "abort-all" } })
      yield* batch.send(E.StartExtraction())
      yield* TestClock.adjust("1 hour")
      expect(yield* batch.state).toMatchObject({ _tag: "Failed", failedCount: 1, error: "one cannot be read" })
      expect(factTags()).toEqual(["BatchCreated", "DocumentFailed", "BatchFailed"])
    }),
  )

  it.effect("is retried with the same documents, as often as its configuration allows", () =>
    Effect.gen(function* () {
      const { machine } = makeWorld(request.documentIds)
      const batch = yield* spawn(machine, request)
      const attempt = Effect.andThen(batch.send(E.StartExtraction()), TestClock.adjust("3 seconds"))
      yield* attempt
      for (const retryCount of [1, 2]) {
        expect((yield* batch.state)._tag).toBe("Failed")
        yield* batch.send(E.Retry())
        expect(yield* batch.state).toEqual(S.Pending({ ...request, retryCount }))
        yield* attempt
      }
      const error = yield* Effect.flip(batch.send(E.Retry()))
      expect(error).toMatchObject({ _tag: "TransitionRefused", reason: "retried 2 times, as often as allowed" })
      expect((yield* batch.state)._tag).toBe("Failed")
    }),
  )
})
