import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, temporaryFolder } from "../support/served.ts"
import { startServer } from "../support/serverProcess.ts"

/** A server that each first request under a key kills, started again on the same port and folder. */
const mortal = (...more: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const data = yield* temporaryFolder
    let running = yield* startServer("dyingServer.ts", data, "0", ...more)
    yield* Effect.addFinalizer(() => Effect.sync(() => running.child.kill("SIGKILL")))
    const { url } = running
    const ask = (path: string, init?: RequestInit) =>
      Effect.tryPromise(async () => {
        const response = await fetch(`${url}${path}`, init)
        const text = await response.text()
        return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
      })
    /** Waits until what is read fits. */
    const until = (path: string, fits: (body: never) => boolean) =>
      Effect.repeat(ask(path), { until: ({ body }) => fits(body as never), schedule: Schedule.spaced("20 millis") })
    /** Sends a request that kills the server before its answer. `meanwhile` runs after the restart, before the request is repeated. */
    const repeated = (
      path: string,
      key: string,
      body: unknown = {},
      meanwhile: Effect.Effect<unknown, unknown> = Effect.void,
      method: "POST" | "PUT" = "POST",
    ) =>
      Effect.gen(function* () {
        const over = once(running.child, "exit")
        const send = ask(path, { ...json(body, { "idempotency-key": `die-${key}` }), method })
        const first = yield* Effect.exit(send)
        assert.isTrue(Exit.isFailure(first), `${path} was answered`)
        yield* Effect.promise(() => over)
        running = yield* startServer("dyingServer.ts", data, new URL(url).port, ...more)
        yield* meanwhile
        const second = yield* send
        const third = yield* send
        assert.deepStrictEqual(third, second)
        return second
      })
    return { ask, until, repeated }
  })

describe("a request whose server was killed before its answer", () => {
  it.live(
    "is answered when it is repeated under its key, and not done twice: commands, executions, instances",
    () =>
      Effect.gen(function* () {
        const { ask, until, repeated } = yield* mortal()
        for (const id of ["a", "b", "c"]) {
          yield* ask("/api/v1/instances/teller", json({ id }))
          yield* ask(`/api/v1/instances/teller/${id}/events`, json({ _tag: "Tell", text: id }))
        }
        const path = (id: string) => `/api/v1/instances/teller/${id}/commands`
        const isFailed = (round: number) => (body: { readonly commands: ReadonlyArray<{ status: string; round?: number }> }) =>
          body.commands[0]?.status === "failed" && (body.commands[0].round ?? 0) === round
        const keys: Record<string, string> = {}
        for (const id of ["a", "b", "c"]) {
          const { body } = yield* until(path(id), isFailed(0))
          keys[id] = encodeURIComponent(body.commands[0].key)
        }

        const skipped = yield* repeated(`/api/v1/commands/${keys["a"]}/skip`, "skip", { reason: "not needed" })
        assert.deepInclude(skipped, { status: 200 })
        assert.deepInclude(skipped.body, { status: "skipped", problem: "not needed" })

        // It fails again before the request is repeated, and is not executed a third time.
        const retried = yield* repeated(`/api/v1/commands/${keys["b"]}/retry`, "retry", {}, until(path("b"), isFailed(1)))
        assert.strictEqual(retried.status, 200)
        assert.deepInclude(retried.body, { status: "failed", round: 1 })

        const filter = { machine: "teller", id: "c" }
        const all = yield* repeated("/api/v1/commands/retry", "retry-all", filter, until(path("c"), isFailed(1)))
        assert.deepStrictEqual(all, { status: 200, body: { count: 1, dryRun: false } })
        yield* Effect.sleep("300 millis")
        for (const id of ["b", "c"]) assert.isTrue(isFailed(1)((yield* ask(path(id))).body))

        const started = yield* repeated("/api/v1/executions/ship", "start", { payload: { parcel: "books" } })
        assert.strictEqual(started.status, 201)
        const execution = `/api/v1/executions/ship/${started.body.id}`
        yield* until(execution, ({ phase }: { readonly phase: string }) => phase === "Suspended")
        const isEnded = ({ ended }: { readonly ended: boolean }) => ended
        const interrupted = yield* repeated(`${execution}/interrupt`, "interrupt", {}, until(execution, isEnded))
        assert.deepInclude(interrupted.body, { phase: "Interrupted" })

        const { body: parcel } = yield* ask("/api/v1/executions/ship", json({ payload: { parcel: "pens" } }))
        const other = `/api/v1/executions/ship/${parcel.id}`
        const sent = yield* repeated(`${other}/events`, "event", { event: "gate", value: "seven" }, until(other, isEnded))
        assert.deepInclude(sent.body, { phase: "Completed" })
        const { body: past } = yield* ask(`${other}/history`)
        assert.lengthOf(
          past.events.filter(({ event }: { readonly event: string }) => event === "Deferred/gate"),
          1,
        )

        for (const id of ["one", "two"]) {
          yield* ask("/api/v1/instances/tally", json({ id }))
          yield* ask(`/api/v1/instances/tally/${id}/events`, json({ _tag: "Close" }))
        }
        const purged = yield* repeated("/api/v1/machines/tally/purge", "purge", { endedBeforeMillis: 0 })
        assert.deepStrictEqual(purged, { status: 200, body: { machine: "tally", count: 2, dryRun: false } })
      }),
    300_000,
  )

  it.live(
    "is answered when it is repeated under its key, and not done twice: batches and uploads",
    () =>
      Effect.gen(function* () {
        const { ask, until, repeated } = yield* mortal("systems")
        // It waits for activities, so nothing works on it.
        const { body: batch } = yield* ask(
          "/api/v1/batch",
          json({ folder: corpusFolder, manifest: smallManifest, config: { dispatch: "activities" } }),
        )
        const at = `/api/v1/batch/${batch.batchId}`
        const cancelled = yield* repeated(`${at}/cancel`, "cancel")
        assert.deepInclude(cancelled.body, { state: "Cancelled" })
        const resumed = yield* repeated(`${at}/resume`, "resume")
        assert.strictEqual(resumed.status, 200)
        assert.notStrictEqual(resumed.body.state, "Cancelled")

        const good = { id: 8863, type: "story", by: "dhouston", time: 1175714200, title: "a file in the cloud" }
        const form = new FormData()
        form.append("file", new Blob([JSON.stringify([good, { id: 8864 }])], { type: "application/json" }), "items.json")
        const { body: upload } = yield* ask("/api/v1/uploads", { method: "POST", body: form })
        const where = `/api/v1/uploads/${upload.batchId}`
        const isResting = (status: { readonly isResting: boolean }) => status.isResting
        yield* until(where, isResting)
        const retried = yield* repeated(`${where}/retry`, "retry", {}, until(where, isResting))
        assert.strictEqual(retried.status, 200)
        yield* until(where, isResting)
        const { body: failed } = yield* ask(`${where}/items?state=failed`)
        assert.strictEqual(failed.items[0].attempts, 2)
        const stopped = yield* repeated(`${where}/cancel?reason=enough`, "cancel-upload", {})
        assert.strictEqual(stopped.body.state, "failed")
        const other = yield* ask(`${where}/cancel?reason=other`, json({}, { "idempotency-key": "die-cancel-upload" }))
        assert.strictEqual(other.status, 422)
      }),
    300_000,
  )

  it.live(
    "is answered when it is repeated under its key, and not done twice: reviews, withdrawals, corrections",
    () =>
      Effect.gen(function* () {
        const { ask, until, repeated } = yield* mortal("systems")
        const documents = ["newsletter", "ada-sol"].map((name) => ({ source: `documents/${name}.txt` }))
        const { body: batch } = yield* ask("/api/v1/batch", json({ folder: corpusFolder, manifest: { ...smallManifest, documents } }))
        const at = `/api/v1/batch/${batch.batchId}`
        yield* until(at, ({ isTerminal }: { readonly isTerminal: boolean }) => isTerminal)
        const { body: open } = yield* ask(`${at}/review`)
        const total = open.facts.length
        const [one, two] = open.facts.map(({ factId }: { readonly factId: string }) => factId)
        const acceptedBy = () =>
          Effect.map(
            ask(`/api/v1/knowledge/coast/sparql?query=${encodeURIComponent("SELECT ?by { ?s <urn:detent:vocabulary:acceptedBy> ?by }")}`),
            ({ body }) => body.results.bindings.length,
          )
        const accepted = yield* repeated(`${at}/review/accept`, "accept", { facts: [one], by: "ada" })
        assert.deepInclude(accepted.body, { decided: 1, refused: [], review: { open: total - 1, accepted: 1, rejected: 0 } })
        assert.strictEqual(yield* acceptedBy(), 1)
        const rejected = yield* repeated(`${at}/review/reject`, "reject", { facts: [two], by: "bo" })
        assert.deepInclude(rejected.body, { decided: 1, refused: [], review: { open: total - 2, accepted: 1, rejected: 1 } })
        const reopened = yield* repeated(`${at}/review/reopen`, "reopen", { facts: [two], by: "bo" })
        assert.deepInclude(reopened.body, { decided: 1, refused: [], review: { open: total - 1, accepted: 1, rejected: 0 } })
        const { body: after } = yield* ask(`${at}/review?status=open`)
        const fact = after.facts.find(({ factId }: { readonly factId: string }) => factId === two)
        assert.deepStrictEqual(
          fact.history.map(({ verdict }: { readonly verdict: string }) => verdict),
          ["rejected", "reopened"],
        )

        const withdrawn = yield* repeated(`${at}/withdraw`, "withdraw")
        assert.deepInclude(withdrawn, { status: 200 })
        assert.isString(withdrawn.body.version)
        const { body: graph } = yield* ask("/api/v1/knowledge/coast")
        assert.strictEqual(graph.version, withdrawn.body.version)
        assert.strictEqual(yield* acceptedBy(), 0)

        const good = { id: 8863, type: "story", by: "dhouston", time: 1175714200, title: "a file in the cloud" }
        const form = new FormData()
        form.append("file", new Blob([JSON.stringify([good, { type: "story" }])], { type: "application/json" }), "items.json")
        const { body: upload } = yield* ask("/api/v1/uploads", { method: "POST", body: form })
        const where = `/api/v1/uploads/${upload.batchId}`
        const isResting = (status: { readonly isResting: boolean }) => status.isResting
        yield* until(where, isResting)
        const { body: failed } = yield* ask(`${where}/items?state=failed`)
        const item = `${where}/items/${failed.items[0].index}`
        const { body: shown } = yield* ask(item)
        assert.deepStrictEqual(JSON.parse(shown.source), { type: "story" })
        // The corrected item is stored before the request is repeated, and stays as it is.
        const retried = Effect.andThen(ask(`${where}/retry`, json({})), until(where, isResting))
        const corrected = yield* repeated(item, "correct", { ...good, id: 8864 }, retried, "PUT")
        assert.strictEqual(corrected.status, 204)
        const { body: end } = yield* ask(where)
        assert.deepInclude(end.items, { total: 2, stored: 2, failed: 0 })
        assert.deepInclude(JSON.parse((yield* ask(item)).body.source), { hnId: 8864, title: "a file in the cloud" })
        const otherItem = yield* ask(item, { ...json({ ...good, id: 8865 }, { "idempotency-key": "die-correct" }), method: "PUT" })
        assert.strictEqual(otherItem.status, 422)
      }),
    300_000,
  )
})
