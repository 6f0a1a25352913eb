import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, type served as Served, served } from "../support/served.ts"

type Client = Effect.Success<ReturnType<typeof Served>>["client"]

const finished = (client: Client, batchId: string) =>
  Effect.repeat(client.batches.get({ params: { batchId: batchId as never } }), {
    until: ({ isTerminal }) => isTerminal,
    schedule: Schedule.spaced("50 millis"),
  })

const start = (client: Client, key?: string) =>
  client.batches.start({
    headers: key === undefined ? {} : { "idempotency-key": key },
    payload: { folder: corpusFolder, manifest: smallManifest as never },
  })

describe("batches over HTTP", () => {
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
      const { client, data, url } = yield* served()
      const { batchId } = yield* start(client)
      yield* finished(client, batchId)
      const manifestUri = `${pathToFileURL(data).href}/batches/${batchId}/manifest.json`
      const again = yield* request(`${url}/api/v1/batch`, json({ manifestUri }))
      assert.strictEqual(again.status, 202, again.text)
      assert.deepInclude(JSON.parse(again.text), { batchId, state: "Completed" })
      assert.strictEqual((yield* client.batches.list({ query: {} })).batches.length, 1)
    }),
  )

  it.live("go from a manifest to a graph that can be asked", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const { batchId } = yield* start(client)
      const end = yield* finished(client, batchId)
      assert.strictEqual(end.state, "Completed")
      assert.deepStrictEqual(end.documents, { total: 2, completed: 2, failed: 0, setAside: 0, unchanged: 0 })
      const { batches } = yield* client.batches.list({ query: {} })
      assert.deepStrictEqual(
        batches.map((one) => one.batchId),
        [batchId],
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
      assert.deepStrictEqual(yield* client.knowledge.graphs(), { graphs: [graph] })
      assert.strictEqual(graph.contributions[0]?.batchId, batchId)
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
      const { client } = yield* served()
      const { batchId } = yield* start(client)
      yield* finished(client, batchId)
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
      const { client } = yield* served()
      const [first, second] = yield* Effect.all([start(client, "nightly-7"), start(client, "nightly-7")], { concurrency: 2 })
      assert.strictEqual(first.batchId, second.batchId)
      const { batches } = yield* client.batches.list({ query: {} })
      assert.strictEqual(batches.length, 1)
      yield* finished(client, first.batchId)
    }),
  )

  it.live("under one Idempotency-Key are one request: another manifest is refused, and the key of a refused one is free", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const headers = { "idempotency-key": "nightly-8" }
      const wrong = { ...(smallManifest as object), ontology: "none.ttl" }
      const starting = (manifest: unknown) => request(`${url}/api/v1/batch`, json({ folder: corpusFolder, manifest }, headers))
      assert.strictEqual((yield* starting(wrong)).status, 422)
      const first = yield* starting(smallManifest)
      assert.strictEqual(first.status, 202, first.text)
      const other = yield* starting({ ...(smallManifest as object), targetNamespace: "elsewhere" })
      assert.deepStrictEqual([other.status, JSON.parse(other.text).type], [422, "urn:detent:problem:RequestKeyTaken"])
      const { batches } = yield* client.batches.list({ query: {} })
      assert.strictEqual(batches.length, 1)
      yield* finished(client, JSON.parse(first.text).batchId)
    }),
  )

  it.live("can be cancelled and resumed", () =>
    Effect.gen(function* () {
      const { client } = yield* served()
      const { batchId } = yield* start(client)
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
      const { url } = yield* served()
      const answer = yield* request(`${url}/api/v1/batch`, json({ folder: corpusFolder, manifest }))
      assert.deepStrictEqual([answer.status, answer.type], [422, "application/problem+json"])
      assert.include(JSON.parse(answer.text).detail, advice)
    }),
  )

  it.live("give no file outside of the batch", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const { batchId } = yield* start(client)
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
        const answer = yield* request(`${url}/api/v1/batch/${batchId}/artifacts/${name}`)
        assert.include([400, 404], answer.status, name)
        assert.strictEqual(answer.type, "application/problem+json", name)
      }
      assert.strictEqual((yield* request(`${url}/api/v1/batch/${batchId}/artifacts/manifest.json`)).status, 200)
      yield* finished(client, batchId)
    }),
  )
})

describe("batches as procedures", () => {
  it.live.each(["http", "socket"] as const)("are started, watched to their end and cancelled over %s", (protocol) =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { client } = yield* Effect.promise(() => import("@detent/server"))
      const rpc = yield* protocol === "http" ? client.makeRpcClient({ url }) : client.makeRpcSocketClient({ url })
      const { batchId } = yield* rpc.batch_start({ folder: corpusFolder, manifest: smallManifest as never })
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
