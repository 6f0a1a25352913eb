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
    const repeated = (path: string, key: string, body: unknown = {}, meanwhile: Effect.Effect<unknown, unknown> = Effect.void) =>
      Effect.gen(function* () {
        const over = once(running.child, "exit")
        const send = ask(path, json(body, { "idempotency-key": `die-${key}` }))
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
})
