import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, temporaryFolder } from "../support/served.ts"
import { killServer, startServer } from "../support/serverProcess.ts"

interface Repeated {
  readonly path: string
  readonly key: string
  readonly body?: unknown
  /** Runs after the restart, before the request is repeated. */
  readonly meanwhile?: Effect.Effect<unknown, unknown>
  readonly method?: "POST" | "PUT"
}

/** A server that is killed in the middle of requests, and started again on the same port and folder. */
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
    const send = ({ path, key, body = {}, method = "POST" }: Repeated) =>
      ask(path, { ...json(body, { "idempotency-key": `die-${key}` }), method })
    /**
     * Sends requests one after the other, each when the work of the one before is stored, and kills the server before it has answered
     * any of them. Returns what is answered to each when it is repeated.
     */
    const repeated = (...requests: ReadonlyArray<Repeated>) =>
      Effect.gen(function* () {
        const first: Array<Fiber.Fiber<unknown, unknown>> = []
        for (const request of requests) {
          const sending = yield* Effect.forkChild(send(request))
          first.push(sending)
          while (!existsSync(join(data, `stopped-die-${request.key}`))) {
            assert.isUndefined(sending.pollUnsafe(), `${request.path} was answered: ${JSON.stringify(sending.pollUnsafe())}`)
            yield* Effect.sleep("10 millis")
          }
        }
        yield* killServer(running, "SIGKILL")
        for (const [index, sending] of first.entries())
          assert.isTrue(Exit.isFailure(yield* Fiber.await(sending)), `${requests[index]?.path} was answered`)
        running = yield* startServer("dyingServer.ts", data, new URL(url).port, ...more)
        return yield* Effect.forEach(requests, (request) =>
          Effect.gen(function* () {
            yield* request.meanwhile ?? Effect.void
            const second = yield* send(request)
            const third = yield* send(request)
            assert.deepStrictEqual(third, second, request.path)
            return second
          }),
        )
      })
    return { ask, until, repeated }
  })

describe("a request whose server was killed before its answer", () => {
  it.live("is answered when it is repeated under its key, and not done twice: commands, executions, instances", () =>
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

      for (const id of ["one", "two"]) {
        yield* ask("/api/v1/instances/tally", json({ id }))
        yield* ask(`/api/v1/instances/tally/${id}/events`, json({ _tag: "Close" }))
      }
      const [skipped, retried, all, started, purged] = yield* repeated(
        { path: `/api/v1/commands/${keys["a"]}/skip`, key: "skip", body: { reason: "not needed" } },
        // They fail again before the requests are repeated, and are not executed a third time.
        { path: `/api/v1/commands/${keys["b"]}/retry`, key: "retry", meanwhile: until(path("b"), isFailed(1)) },
        {
          path: "/api/v1/commands/retry",
          key: "retry-all",
          body: { machine: "teller", id: "c" },
          meanwhile: until(path("c"), isFailed(1)),
        },
        { path: "/api/v1/executions/ship", key: "start", body: { payload: { parcel: "books" } } },
        { path: "/api/v1/machines/tally/purge", key: "purge", body: { endedBeforeMillis: 0 } },
      )
      assert.strictEqual(skipped?.status, 200)
      assert.deepInclude(skipped?.body, { status: "skipped", problem: "not needed" })
      assert.strictEqual(retried?.status, 200)
      assert.deepInclude(retried?.body, { status: "failed", round: 1 })
      assert.deepStrictEqual(all, { status: 200, body: { count: 1, dryRun: false } })
      assert.deepStrictEqual(purged, { status: 200, body: { machine: "tally", count: 2, dryRun: false } })
      yield* Effect.sleep("300 millis")
      for (const id of ["b", "c"]) assert.isTrue(isFailed(1)((yield* ask(path(id))).body))

      assert.strictEqual(started?.status, 201)
      const execution = `/api/v1/executions/ship/${started?.body.id}`
      yield* until(execution, ({ phase }: { readonly phase: string }) => phase === "Suspended")
      const isEnded = ({ ended }: { readonly ended: boolean }) => ended
      const { body: parcel } = yield* ask("/api/v1/executions/ship", json({ payload: { parcel: "pens" } }))
      const other = `/api/v1/executions/ship/${parcel.id}`
      const [interrupted, sent] = yield* repeated(
        { path: `${execution}/interrupt`, key: "interrupt", meanwhile: until(execution, isEnded) },
        { path: `${other}/events`, key: "event", body: { event: "gate", value: "seven" }, meanwhile: until(other, isEnded) },
      )
      assert.deepInclude(interrupted?.body, { phase: "Interrupted" })
      assert.deepInclude(sent?.body, { phase: "Completed" })
      const { body: past } = yield* ask(`${other}/history`)
      assert.lengthOf(
        past.events.filter(({ event }: { readonly event: string }) => event === "Deferred/gate"),
        1,
      )
    }),
  )

  it.live("is answered when it is repeated under its key, and not done twice: batches and uploads", () =>
    Effect.gen(function* () {
      const { ask, until, repeated } = yield* mortal("systems")
      // It waits for activities, so nothing works on it.
      const { body: batch } = yield* ask(
        "/api/v1/batch",
        json({ folder: corpusFolder, manifest: smallManifest, config: { dispatch: "activities" } }),
      )
      const at = `/api/v1/batch/${batch.batchId}`
      const good = { id: 8863, type: "story", by: "dhouston", time: 1175714200, title: "a file in the cloud" }
      const form = new FormData()
      form.append("file", new Blob([JSON.stringify([good, { type: "story" }])], { type: "application/json" }), "items.json")
      const { body: upload } = yield* ask("/api/v1/uploads", { method: "POST", body: form })
      const where = `/api/v1/uploads/${upload.batchId}`
      const isResting = (status: { readonly isResting: boolean }) => status.isResting
      yield* until(where, isResting)
      const [cancelled, retried] = yield* repeated(
        { path: `${at}/cancel`, key: "cancel" },
        { path: `${where}/retry`, key: "retry", meanwhile: until(where, isResting) },
      )
      assert.deepInclude(cancelled?.body, { state: "Cancelled" })
      assert.strictEqual(retried?.status, 200)
      yield* until(where, isResting)
      const { body: failed } = yield* ask(`${where}/items?state=failed`)
      assert.strictEqual(failed.items[0].attempts, 2)
      const [resumed, stopped] = yield* repeated(
        { path: `${at}/resume`, key: "resume" },
        { path: `${where}/cancel?reason=enough`, key: "cancel-upload" },
      )
      assert.strictEqual(resumed?.status, 200)
      assert.notStrictEqual(resumed?.body.state, "Cancelled")
      assert.strictEqual(stopped?.body.state, "failed")
      const other = yield* ask(`${where}/cancel?reason=other`, json({}, { "idempotency-key": "die-cancel-upload" }))
      assert.strictEqual(other.status, 422)
    }),
  )

  it.live("is answered when it is repeated under its key, and not done twice: reviews, withdrawals, corrections", () =>
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
      const [accepted, rejected, corrected] = yield* repeated(
        { path: `${at}/review/accept`, key: "accept", body: { facts: [one], by: "ada" } },
        { path: `${at}/review/reject`, key: "reject", body: { facts: [two], by: "bo" } },
        { path: item, key: "correct", body: { ...good, id: 8864 }, meanwhile: retried, method: "PUT" },
      )
      const decided = { decided: 1, refused: [], review: { open: total - 2, accepted: 1, rejected: 1 } }
      assert.deepInclude(accepted?.body, decided)
      assert.strictEqual(yield* acceptedBy(), 1)
      assert.deepInclude(rejected?.body, decided)
      const [reopened] = yield* repeated({ path: `${at}/review/reopen`, key: "reopen", body: { facts: [two], by: "bo" } })
      assert.deepInclude(reopened?.body, { decided: 1, refused: [], review: { open: total - 1, accepted: 1, rejected: 0 } })
      const { body: after } = yield* ask(`${at}/review?status=open`)
      const fact = after.facts.find(({ factId }: { readonly factId: string }) => factId === two)
      assert.deepStrictEqual(
        fact.history.map(({ verdict }: { readonly verdict: string }) => verdict),
        ["rejected", "reopened"],
      )

      const [withdrawn] = yield* repeated({ path: `${at}/withdraw`, key: "withdraw" })
      assert.strictEqual(withdrawn?.status, 200)
      assert.isString(withdrawn?.body.version)
      const { body: graph } = yield* ask("/api/v1/knowledge/coast")
      assert.strictEqual(graph.version, withdrawn?.body.version)
      assert.strictEqual(yield* acceptedBy(), 0)

      assert.strictEqual(corrected?.status, 204)
      const { body: end } = yield* ask(where)
      assert.deepInclude(end.items, { total: 2, stored: 2, failed: 0 })
      assert.deepInclude(JSON.parse((yield* ask(item)).body.source), { id: 8864, title: "a file in the cloud" })
      const otherItem = yield* ask(item, { ...json({ ...good, id: 8865 }, { "idempotency-key": "die-correct" }), method: "PUT" })
      assert.strictEqual(otherItem.status, 422)
    }),
  )
})
