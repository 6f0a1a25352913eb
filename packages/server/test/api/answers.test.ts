import * as api from "@detent/api"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { operationsOf } from "../support/Operations.ts"
import { request, served } from "../support/served.ts"

const operations = operationsOf(api.openApi())

/** Asks, and holds the answer against the description of the operation. */
const asked = (url: string, path: string, method: string, request_: string, init: RequestInit = {}) =>
  Effect.gen(function* () {
    const { status, type, text } = yield* request(`${url}${request_}`, { method, ...init })
    const operation = operations.find((one) => one.path === path && one.method.toUpperCase() === method)
    assert.isDefined(operation, `${method} ${path} is not described`)
    assert.strictEqual(status, 200, text)
    assert.isUndefined(operation?.check(status, type, text), `${method} ${request_} -> ${type}`)
    return type.split(";")[0]
  })

describe("what the API answers about a graph", () => {
  it.live("is what its description says, whatever the form of the answer", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const { batchId } = yield* client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: smallManifest as never },
      })
      yield* Effect.repeat(client.batches.get({ params: { batchId: batchId as never } }), {
        until: ({ isTerminal }) => isTerminal,
        schedule: Schedule.spaced("50 millis"),
      })
      const graph = "/api/v1/knowledge/coast"
      const described = "/api/v1/knowledge/{namespace}"
      const query = (sparql: string) => asked(url, `${described}/sparql`, "GET", `${graph}/sparql?query=${encodeURIComponent(sparql)}`)
      assert.strictEqual(yield* query("SELECT * { ?s ?p ?o } LIMIT 5"), "application/sparql-results+json")
      assert.strictEqual(yield* query("ASK { ?s ?p ?o }"), "application/sparql-results+json")
      assert.strictEqual(yield* query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 5"), "application/n-triples")
      const body = { headers: { "content-type": "application/sparql-query" }, body: "DESCRIBE <urn:a>" }
      assert.strictEqual(yield* asked(url, `${described}/sparql`, "POST", `${graph}/sparql`, body), "application/n-triples")
      const types = yield* Effect.forEach(["turtle", "ntriples", "jsonld", "entities", "relations"], (format) =>
        asked(url, `${described}/export`, "GET", `${graph}/export?format=${format}`),
      )
      assert.deepStrictEqual(types, ["text/turtle", "application/n-triples", "application/ld+json", "text/csv", "text/csv"])
      for (const part of ["", "/entities", "/relations"]) yield* asked(url, `${described}${part}`, "GET", `${graph}${part}`)
      const params = { namespace: "coast" as never }
      const { versions } = yield* client.knowledge.versions({ params, query: {} })
      assert.strictEqual(versions.length, 1)
      const report = (version: string) => request(`${url}${graph}/graph/report?version=${version}`)
      assert.strictEqual((yield* report(versions[0]?.version ?? "")).status, 200)
      assert.strictEqual((yield* report("0000000000000000")).status, 404)
      const { relations } = yield* client.knowledge.relations({ params, query: { limit: 1 } })
      const entity = relations[0]?.subject ?? ""
      const around = yield* client.knowledge.neighbourhood({ params, query: { entity, depth: 2 } })
      assert.deepInclude(around.nodes[0], { iri: entity, depth: 0 })
      assert.isAtMost(around.nodes.length, 300)
      const { facts } = yield* client.knowledge.facts({ params, query: { subject: entity } })
      const [fact] = facts
      assert.isDefined(fact)
      if (fact !== undefined) {
        const { start, end, documentId } = fact
        const text = yield* client.knowledge.documentText({
          params: { ...params, documentId: documentId as never },
          query: { start, end },
        })
        assert.include(text.text, fact.quote)
        assert.isTrue(text.matchesRun)
      }
      const { properties } = yield* client.knowledge.vocabulary({ params, query: {} })
      assert.isAbove(properties.length, 3)
      const { batches: listed } = yield* client.batches.list({ query: { order: "newest" } })
      assert.strictEqual(listed[0]?.progress?.batchId, batchId)
      const { artifacts } = yield* client.batches.artifacts({ params: { batchId: batchId as never } })
      const read = new Set(
        yield* Effect.forEach(artifacts, ({ name }) =>
          asked(url, "/api/v1/batch/{batchId}/artifacts/{name}", "GET", `/api/v1/batch/${batchId}/artifacts/${encodeURIComponent(name)}`),
        ),
      )
      assert.isTrue(read.has("application/json") && read.has("text/turtle") && read.has("application/n-triples"), [...read].join())
    }),
  )
})
