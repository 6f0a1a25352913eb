import { pathToFileURL } from "node:url"
import * as clients from "@detent/api/client"
import type { BatchId } from "@detent/knowledge"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, type Served, served, useServed } from "../support/served.ts"

type Client = Served["client"]

const finished = (client: Client, batchId: string) =>
  Effect.repeat(client.batches.get({ params: { batchId: batchId as never } }), {
    until: ({ isTerminal }) => isTerminal,
    schedule: Schedule.spaced("50 millis"),
  })

/** The small batch, into a graph of its own. */
const into = (targetNamespace: string) => ({ folder: corpusFolder, manifest: { ...smallManifest, targetNamespace } as never })

const shared = useServed()

/** How many batches an effect adds to those of the shared server. */
const added = (effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const { client } = yield* shared
    const count = Effect.map(client.batches.list({ query: {} }), ({ batches }) => batches.length)
    const before = yield* count
    yield* effect
    return (yield* count) - before
  })

describe("batches over HTTP", () => {
  /** The batch of the graph `coast`, complete. */
  let coast = "" as BatchId
  beforeAll(() =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { client } = yield* shared
        const started = yield* client.batches.start({ headers: {}, payload: into("coast") })
        coast = started.batchId
        yield* finished(client, coast)
      }),
    ),
  )

  it.live("start from a manifest at an address: one that was written by hand, or that of a batch, which is then that batch", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const manifestUri = `${corpusFolder}manifest.json`
      const started = yield* request(`${url}/api/v1/batch`, json({ manifestUri, config: { validation: "warn" } }))
      assert.strictEqual(started.status, 202, started.text)
      const { batchId, documents } = JSON.parse(started.text)
      assert.isAbove(documents.total, 2)
      const { artifacts } = yield* client.batches.artifacts({ params: { batchId } })
      assert.include(
        artifacts.map(({ name }) => name),
        "manifest.json",
      )
      const { batches } = yield* client.batches.list({ query: {} })
      assert.strictEqual(batches.length, 1)
      const unknown = yield* request(`${url}/api/v1/batch`, json({ manifestUri, confg: {} }))
      assert.strictEqual(unknown.status, 400)
      assert.include(JSON.parse(unknown.text).detail, "confg is not known; did you mean config?")
      const missing = yield* request(`${url}/api/v1/batch`, json({ manifestUri: `${corpusFolder}none.json` }))
      assert.strictEqual(missing.status, 404, missing.text)
      const outside = yield* request(`${url}/api/v1/batch`, json({ manifestUri: "file:///etc/passwd" }))
      assert.include([400, 403, 404, 422], outside.status, outside.text)
      assert.notInclude(outside.text, "root:")
      yield* client.batches.cancel({ params: { batchId } })
    }),
  )

  it.live("start again as the same batch from the manifest.json that it stored", () =>
    Effect.gen(function* () {
      const { data, url } = yield* shared
      const manifestUri = `${pathToFileURL(data).href}/batches/${coast}/manifest.json`
      const again = Effect.gen(function* () {
        const { status, text } = yield* request(`${url}/api/v1/batch`, json({ manifestUri }))
        assert.strictEqual(status, 202, text)
        assert.deepInclude(JSON.parse(text), { batchId: coast, state: "Completed" })
      })
      assert.strictEqual(yield* added(again), 0)
    }),
  )

  it.live("go from a manifest to a graph that can be asked", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const batchId = coast
      const end = yield* client.batches.get({ params: { batchId } })
      assert.strictEqual(end.state, "Completed")
      assert.deepStrictEqual(end.documents, { total: 2, completed: 2, failed: 0, setAside: 0, unchanged: 0 })
      const { batches } = yield* client.batches.list({ query: {} })
      assert.include(
        batches.map((one) => one.batchId),
        batchId,
      )
      const { documents } = yield* client.batches.documents({ params: { batchId }, query: { status: "completed" } })
      assert.strictEqual(documents.length, 2)

      const { artifacts } = yield* client.batches.artifacts({ params: { batchId } })
      assert.include(
        artifacts.map(({ name }) => name),
        "validation/report.json",
      )
      const report = yield* request(`${url}/api/v1/batch/${batchId}/artifacts/validation%2Freport.json`)
      assert.deepStrictEqual([report.status, report.type], [200, "application/json"])
      JSON.parse(report.text)

      const namespace = "coast" as never
      const graph = yield* client.knowledge.graph({ params: { namespace } })
      assert.deepInclude((yield* client.knowledge.graphs()).graphs, graph)
      assert.deepStrictEqual(
        graph.contributions.map((one) => one.batchId),
        [batchId],
      )
      const { entities } = yield* client.knowledge.entities({ params: { namespace }, query: { search: "ADA" } })
      assert.isAbove(entities.length, 0)
      const entity = entities[0]?.iri ?? ""
      const { relations } = yield* client.knowledge.relations({ params: { namespace }, query: { entity } })
      assert.isAbove(relations.length, 0)
      for (const { types } of entities) assert.isAbove(types.length, 0)
      const { facts } = yield* client.knowledge.provenance({ params: { namespace }, query: { entity } })
      assert.isAbove(facts.length, 1)
      for (const { quote, start, end, places } of facts) assert.isTrue(quote.length > 0 && end > start && places === undefined)
      const placed = yield* client.knowledge.provenance({ params: { namespace }, query: { entity, places: "true" } })
      for (const { places } of placed.facts) assert.isAbove(places?.length ?? 0, 0)
      const asked = yield* request(
        `${url}/api/v1/knowledge/coast/sparql?query=${encodeURIComponent("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")}`,
      )
      assert.strictEqual(asked.status, 200)
      assert.isAbove(Number(JSON.parse(asked.text).results.bindings[0].n.value), 10)
      const posted = yield* request(`${url}/api/v1/knowledge/coast/sparql`, {
        method: "POST",
        headers: { "content-type": "application/sparql-query" },
        body: "ASK { ?s ?p ?o }",
      })
      assert.deepStrictEqual([posted.status, JSON.parse(posted.text).boolean], [200, true])
      const exported = yield* request(`${url}/api/v1/knowledge/coast/export?format=ntriples`)
      assert.match(exported.text, /^<urn:detent/)
    }),
  )

  it.live("a graph is read in pages, each fact once", () =>
    Effect.gen(function* () {
      const { client } = yield* shared
      const params = { namespace: "coast" as never }
      const { relations: all } = yield* client.knowledge.relations({ params, query: {} })
      assert.strictEqual(
        new Set(all.map(({ subject, property, object, datatype }) => [subject, property, object, datatype].join(" "))).size,
        all.length,
      )
      const paged: Array<(typeof all)[number]> = []
      let after: string | undefined
      do {
        const page = yield* client.knowledge.relations({ params, query: { limit: 2, ...(after === undefined ? {} : { after }) } })
        assert.isAtMost(page.relations.length, 2)
        paged.push(...page.relations)
        after = page.next
      } while (after !== undefined)
      assert.deepStrictEqual(paged, [...all])

      const entity = all[0]?.subject ?? ""
      const { facts } = yield* client.knowledge.provenance({ params, query: { entity } })
      const first = yield* client.knowledge.provenance({ params, query: { entity, limit: 1 } })
      const rest = yield* client.knowledge.provenance({ params, query: { entity, after: first.next ?? "" } })
      assert.deepStrictEqual([...first.facts, ...rest.facts], [...facts])
      assert.isUndefined(rest.next)
    }),
  )

  it.live("111 the same Idempotency-Key is the same batch", () =>
    Effect.gen(function* () {
      const { client } = yield* shared
      const start = client.batches.start({ headers: { "idempotency-key": "nightly-7" }, payload: into("nightly-7") })
      const twice = Effect.gen(function* () {
        const [first, second] = yield* Effect.all([start, start], { concurrency: 2 })
        assert.strictEqual(first.batchId, second.batchId)
        yield* finished(client, first.batchId)
      })
      assert.strictEqual(yield* added(twice), 1)
    }),
  )

  it.live("under one Idempotency-Key are one request: another manifest is refused, and the key of a refused one is free", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const headers = { "idempotency-key": "nightly-8" }
      const { folder, manifest } = into("nightly-8")
      const starting = (changes: object) =>
        request(`${url}/api/v1/batch`, json({ folder, manifest: { ...(manifest as object), ...changes } }, headers))
      const three = Effect.gen(function* () {
        assert.strictEqual((yield* starting({ ontology: "none.ttl" })).status, 422)
        const first = yield* starting({})
        assert.strictEqual(first.status, 202, first.text)
        const other = yield* starting({ targetNamespace: "elsewhere" })
        assert.deepStrictEqual([other.status, JSON.parse(other.text).type], [422, "urn:detent:problem:RequestKeyTaken"])
        yield* finished(client, JSON.parse(first.text).batchId)
      })
      assert.strictEqual(yield* added(three), 1)
    }),
  )

  it.live("can be cancelled and resumed", () =>
    Effect.gen(function* () {
      const { client } = yield* shared
      const { batchId } = yield* client.batches.start({ headers: {}, payload: into("resumed") })
      const cancelled = yield* Effect.result(client.batches.cancel({ params: { batchId } }))
      // It may have been faster than us: then there is nothing to cancel, and it says so.
      if (cancelled._tag === "Failure") {
        assert.strictEqual(cancelled.failure._tag, "Conflict")
        return
      }
      assert.strictEqual(cancelled.success.state, "Cancelled")
      yield* client.batches.resume({ params: { batchId } })
      assert.strictEqual((yield* finished(client, batchId)).state, "Completed")
    }),
  )

  it.live.each([
    ["a manifest with a document that is not there", { ...smallManifest, documents: [{ source: "documents/none.txt" }] }, "none.txt"],
    [
      "a document outside of the folders that may be read",
      { ...smallManifest, documents: [{ source: "file:///etc/hostname.txt" }] },
      "opened",
    ],
  ] as const)("refuse %s", ([, manifest, advice]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const answer = yield* request(`${url}/api/v1/batch`, json({ folder: corpusFolder, manifest }))
      assert.deepStrictEqual([answer.status, answer.type], [422, "application/problem+json"])
      assert.include(JSON.parse(answer.text).detail, advice)
    }),
  )

  it.live("give no file outside of the batch", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      for (const name of [
        "..%2F..%2F..%2Fdetent.db",
        "%2e%2e%2f%2e%2e%2fdetent.db",
        "..%5c..%5cdetent.db",
        "validation%2F..%2F..%2F..%2Fdetent.db",
        "%2Fetc%2Fpasswd",
        "file:%2F%2F%2Fetc%2Fpasswd",
        "manifest.json%00.txt",
        ".%2F.%2Fmanifest.json",
        "%c0%ae%c0%ae%2fdetent.db",
      ]) {
        const answer = yield* request(`${url}/api/v1/batch/${coast}/artifacts/${name}`)
        assert.include([400, 404], answer.status, name)
        assert.strictEqual(answer.type, "application/problem+json", name)
      }
      assert.strictEqual((yield* request(`${url}/api/v1/batch/${coast}/artifacts/manifest.json`)).status, 200)
    }),
  )
})

describe("batches as procedures", () => {
  it.live.each(["http", "socket"] as const)("are started, watched to their end and cancelled over %s", (protocol) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const rpc = yield* protocol === "http" ? clients.makeRpcClient({ url }) : clients.makeRpcSocketClient({ url })
      const { batchId } = yield* rpc.batch_start(into(protocol))
      const states = yield* Stream.runCollect(rpc.batch_streamProgress({ batchId }))
      assert.strictEqual(states.at(-1)?.state, "Completed")
      assert.strictEqual((yield* rpc.batch_getStatus({ batchId })).percent, 100)
      const refused = yield* Effect.flip(rpc.batch_cancel({ batchId }))
      assert.strictEqual(refused._tag, "Conflict")
      const unknown = yield* Effect.flip(rpc.batch_getStatus({ batchId: "batch-000000000000" as never }))
      assert.strictEqual(unknown._tag, "NotFound")
    }).pipe(Effect.scoped),
  )
})
