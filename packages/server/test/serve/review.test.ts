import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as clients from "@detent/api/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { batchEnded, corpus, json, request, served } from "../support/served.ts"

const { makeClient, withIdempotencyKey } = clients

const operate = Redacted.make("operate-0123456789abcdef0123456789abcdef")
const read = Redacted.make("read-0123456789abcdef0123456789abcdef")

describe("the review list of a batch over HTTP", () => {
  it.live("leaves the graph as it was where all facts of the shipped corpus are accepted and reopened", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const manifest = JSON.parse(yield* Effect.promise(() => readFile(join(corpus, "manifest.json"), "utf8")))
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })
      yield* batchEnded(client, batchId)
      const exported = Effect.map(request(`${url}/api/v1/knowledge/${manifest.targetNamespace}/export?format=ntriples`), ({ text }) =>
        text.split("\n").toSorted(),
      )
      const before = yield* exported
      const params = { batchId }
      const accepted = yield* client.batches.accept({ params, payload: { all: true } })
      assert.isAbove((yield* exported).length, before.length)
      const reopened = yield* client.batches.reopen({ params, payload: { all: true } })
      assert.strictEqual(reopened.decided, accepted.decided)
      assert.deepStrictEqual(yield* exported, before)
    }),
  )

  it.live("is listed in pages, decided on once for a key, and changed by the role operate only", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ serve: { token: operate, readToken: read } })
      const documents = ["newsletter", "ada-sol"].map((name) => ({ source: `documents/${name}.txt` }))
      const started = yield* client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: { ...smallManifest, documents } as never },
      })
      const params = { batchId: started.batchId }
      const end = yield* Effect.repeat(client.batches.get({ params }), {
        until: ({ isTerminal }) => isTerminal,
        schedule: Schedule.spaced("50 millis"),
      })
      const total = end.outcome?.forReview ?? 0
      assert.isAbove(total, 2)
      assert.deepStrictEqual(end.review, { open: total, accepted: 0, rejected: 0 })

      const first = yield* client.batches.review({ params, query: { limit: 1 } })
      assert.lengthOf(first.facts, 1)
      assert.isDefined(first.next)
      const rest = yield* client.batches.review({
        params,
        query: { limit: 100, ...(first.next === undefined ? {} : { after: first.next }) },
      })
      const facts = [...first.facts, ...rest.facts]
      assert.lengthOf(new Set(facts.map(({ factId }) => factId)), total)
      for (const { quote, why, status } of facts) assert.isTrue(quote !== "" && why.includes("less than 0.5") && status === "open")

      const [one, two] = facts
      const payload = { facts: [one?.factId ?? ""], by: "ada" }
      const reject = client.batches.reject({ params, payload }).pipe(withIdempotencyKey("reject-1"))
      const outcome = yield* reject
      assert.deepInclude(outcome, { decided: 1, refused: [], review: { open: total - 1, accepted: 0, rejected: 1 } })
      assert.deepStrictEqual(yield* reject, outcome)
      const other = client.batches.reject({ params, payload: { facts: [two?.factId ?? ""] } }).pipe(withIdempotencyKey("reject-1"))
      assert.strictEqual((yield* Effect.flip(other))._tag, "Unprocessable")
      const listed = yield* client.batches.review({ params, query: { status: "rejected" } })
      assert.deepInclude(listed.facts[0], { factId: one?.factId ?? "", decidedBy: "ada", status: "rejected" })

      const accepted = yield* client.batches.accept({ params, payload: { all: true } })
      const status = yield* client.batches.get({ params })
      assert.deepStrictEqual(status.review, accepted.review)
      assert.strictEqual(accepted.review.accepted, accepted.decided)
      assert.strictEqual(accepted.review.open, accepted.refused.length)
      const sparql = "SELECT ?by { ?s <urn:detent:vocabulary:acceptedBy> ?by }"
      const authorization = `Bearer ${Redacted.value(operate)}`
      const asked = yield* request(`${url}/api/v1/knowledge/coast/sparql?query=${encodeURIComponent(sparql)}`, {
        headers: { authorization },
      })
      assert.lengthOf(JSON.parse(asked.text).results.bindings, accepted.decided)

      const reopened = yield* client.batches.reopen({ params, payload: { facts: [one?.factId ?? ""], by: "bo" } })
      assert.deepInclude(reopened, { decided: 1, refused: [] })
      assert.strictEqual(reopened.review.rejected, 0)
      const open = yield* client.batches.review({ params, query: { status: "open" } })
      const history = open.facts.find(({ factId }) => factId === one?.factId)?.history
      assert.deepStrictEqual(
        history?.map(({ verdict, by }) => [verdict, by]),
        [
          ["rejected", "ada"],
          ["reopened", "bo"],
        ],
      )

      const reader = yield* makeClient({ url, token: read })
      assert.isAbove((yield* reader.batches.review({ params, query: {} })).facts.length, 0)
      const address = `${url}/api/v1/batch/${started.batchId}/review/accept`
      const looking = yield* request(address, json({ all: true }, { authorization: `Bearer ${Redacted.value(read)}` }))
      assert.strictEqual(looking.status, 403)
      const misspelt = yield* request(address, json({ all: true, propety: "x" }, { authorization }))
      assert.strictEqual(misspelt.status, 400)
      assert.include(misspelt.text, "propety")
      const unknown = client.batches.accept({ params, payload: { facts: ["0123456789abcdef"] } })
      assert.strictEqual((yield* Effect.flip(unknown))._tag, "NotFound")
      const none = yield* request(address, json({}, { authorization }))
      assert.strictEqual(none.status, 400)
      assert.deepInclude(yield* client.batches.withdraw({ params, payload: { force: false } }), { namespace: "coast" })
    }),
  )
})
