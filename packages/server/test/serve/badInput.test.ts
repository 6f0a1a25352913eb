import { connect } from "node:net"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { json, request, served, useServed } from "../support/served.ts"

const problemOf = ({ status, type, text }: { readonly status: number; readonly type: string; readonly text: string }) => {
  assert.strictEqual(type, "application/problem+json", text.slice(0, 200))
  const problem = JSON.parse(text)
  assert.isAbove(problem.detail.length, 10)
  return [status, problem.type.replace("urn:detent:problem:", "")]
}

/** What a server answers to bytes, until it closes the connection or so long has passed. */
const conversation = (url: string, send: (write: (text: string) => void) => void, millis: number) =>
  Effect.promise(
    () =>
      new Promise<{ readonly text: string; readonly closed: boolean }>((resolve) => {
        const socket = connect(Number(new URL(url).port), "127.0.0.1")
        let text = ""
        const timer = setTimeout(() => {
          resolve({ text, closed: false })
          socket.destroy()
        }, millis)
        socket.on("data", (chunk) => {
          text += chunk
        })
        socket.on("error", () => undefined)
        socket.on("close", () => {
          clearTimeout(timer)
          resolve({ text, closed: true })
        })
        send((bytes) => socket.write(bytes))
      }),
  )

const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

describe("bad input", () => {
  const shared = useServed()

  /** Starts an instance of the test's own. */
  let instances = 0
  const startTally = Effect.gen(function* () {
    const { client, url } = yield* shared
    const { id } = yield* client.instances.start({
      params: { machine: "tally" },
      payload: { id: `tally-${String(++instances).padStart(3, "0")}` },
    })
    return { id, client, url, address: `${url}/api/v1/instances/tally/${id}/events` }
  })

  it.live.each([
    ["malformed JSON", "{", 400, "PayloadInvalid"],
    ["no JSON at all", "<xml/>", 400, "PayloadInvalid"],
    ["an empty body", "", 400, "PayloadInvalid"],
    ["null", "null", 400, "PayloadInvalid"],
    ["an array", "[1,2]", 400, "PayloadInvalid"],
    ["a tag that is not text", '{"_tag":7}', 400, "PayloadInvalid"],
    ["JSON as deep as it gets", `{"_tag":"Add","by":${deep(50_000)}}`, 400, "PayloadInvalid"],
    ["a field named like the prototype", '{"_tag":"__proto__","__proto__":{"by":1}}', 422, "InvalidEvent"],
  ] as const)("%s is refused with what to do", ([, body, status, kind]) =>
    Effect.gen(function* () {
      const { address } = yield* startTally
      const answer = yield* request(address, { ...json({}), body })
      assert.deepStrictEqual(problemOf(answer), [status, kind])
    }),
  )

  it.live.each([
    ["a start", "/api/v1/instances/tally", `{"id":"deep","input":${deep(60_000)}}`],
    ["a bulk event", "/api/v1/instances/bulk", `{"filter":{"machine":"tally"},"event":{"_tag":"Add","by":${deep(60_000)}}}`],
    ["a repair", "/api/v1/instances/tally/deep/repair", `{"sequence":1,"event":{"_tag":"Add","by":${deep(60_000)}}}`],
    ["an execution", "/api/v1/executions/none", `{"id":"deep","payload":${deep(60_000)}}`],
    ["an activity", "/activities/extraction", deep(60_000)],
    ["a batch", "/api/v1/batch", `{"manifestUri":${deep(60_000)}}`],
    ["any deeper than is allowed", "/activities/extraction", deep(501)],
  ] as const)("%s that is nested too deeply is refused, with and without an idempotency key", ([, path, body]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      for (const headers of [{}, { "idempotency-key": "deep" }]) {
        const answer = yield* request(`${url}${path}`, { ...json({}, headers), body })
        assert.deepStrictEqual(problemOf(answer), [400, "PayloadInvalid"])
        assert.include(answer.text, "nested too deeply")
      }
    }),
  )

  it.live("refusals before routing have the tag that the description of the operation has for their status", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const large = { ...json({}), body: `{"id":"${"x".repeat(2_000_000)}"}` }
      const cases = [
        ["/api/v1/instances/tally/a%00b", {}, 400, "AddressInvalid", "BadRequest"],
        ["/api/v1/uploads/%ff", {}, 400, "AddressInvalid", "BadRequest"],
        ["/api/v1/nothing", {}, 404, "RouteNotFound", "NotFound"],
        ["/api/v1/instances/tally", large, 413, "BodyTooLarge", "TooLarge"],
        ["/api/v1/machines", { headers: { origin: "https://evil.example" } }, 403, "OtherSite", "Forbidden"],
      ] as const
      for (const [path, init, status, kind, tag] of cases) {
        const answer = yield* request(`${url}${path}`, init)
        assert.deepStrictEqual([...problemOf(answer), JSON.parse(answer.text)._tag], [status, kind, tag], path)
      }
    }),
  )

  it.live("brackets in texts are not nesting", () =>
    Effect.gen(function* () {
      const { address } = yield* startTally
      const answer = yield* request(address, json({ _tag: "Add", by: `\\"${deep(600)}` }))
      assert.notInclude(answer.text, "nested too deeply")
    }),
  )

  it.live("more messages of procedures than one body may have are refused, and as many are answered", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const message = (id: number) =>
        JSON.stringify({ _tag: "Request", id: String(id), tag: "batch_getStatus", payload: { batchId: "none" }, headers: [] })
      const sent = (count: number) =>
        request(`${url}/rpc`, { ...json({}), body: Array.from({ length: count }, (_, at) => `${message(at)}\n`).join("") })
      const refused = yield* sent(101)
      assert.deepStrictEqual(problemOf(refused), [400, "MessagesInvalid"])
      assert.include(refused.text, "at most 100 whole messages")
      const answered = yield* sent(100)
      assert.deepStrictEqual([answered.status, answered.text.trim().split("\n").length], [200, 100])
    }),
  )

  it.live("messages of procedures that are nested too deeply are refused", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const body = `{"_tag":"Request","id":"1","tag":"executions.start","headers":[],"payload":${deep(60_000)}}\n`
      const answer = yield* request(`${url}/rpc`, { method: "POST", headers: { "content-type": "application/ndjson" }, body })
      assert.deepStrictEqual(problemOf(answer)[0], 400)
      assert.include(answer.text, "nested")
    }),
  )

  it.live.each([
    ["a null character", String.raw`a\u0000b`],
    ["half of a surrogate pair", String.raw`a\ud800b`],
    ["nothing but a dot, which no address can hold", "."],
    ["nothing but two dots", ".."],
  ] as const)("an id with %s is refused, not taken for an outage of the store", ([, id]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const answer = yield* request(`${url}/api/v1/instances/tally`, { ...json({}), body: `{"id":"${id}"}` })
      assert.deepStrictEqual(problemOf(answer), [422, "InvalidState"])
      assert.include(answer.text, "its id")
    }),
  )

  it.live.each(["/api/v1/instances/tally/a%00b", "/api/v1/instances?machine=%00", "/api/v1/commands?queue=a%00"])(
    "a null character in the address %s is refused before a database is asked",
    (path) =>
      Effect.gen(function* () {
        const { url } = yield* shared
        assert.deepStrictEqual(problemOf(yield* request(`${url}${path}`)), [400, "AddressInvalid"])
      }),
  )

  it.live("a body of another type, too large a body, a wrong method and an unknown address are problems too", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits: { bodyBytes: 10_000 } } })
      const address = `${url}/api/v1/instances/tally/one/events`
      const typed = yield* request(address, { method: "POST", body: "x", headers: { "content-type": "text/csv" } })
      assert.deepStrictEqual(problemOf(typed), [415, "UnsupportedType"])
      const large = yield* request(address, json({ _tag: "x".repeat(20_000) }))
      assert.deepStrictEqual(problemOf(large), [413, "BodyTooLarge"])
      const pieces = new ReadableStream({
        start: (controller) => {
          for (let index = 0; index < 30; index++) controller.enqueue(new TextEncoder().encode("x".repeat(1000)))
          controller.close()
        },
      })
      const streamed = yield* request(address, {
        method: "POST",
        body: pieces,
        duplex: "half",
        headers: { "content-type": "application/json" },
      } as RequestInit)
      assert.deepStrictEqual(problemOf(streamed), [411, "LengthNeeded"])
      for (const [path, allowed] of [
        ["/api/v1/machines", "GET"],
        ["/api/v1/instances/tally/one/events", "GET, POST"],
        ["/rpc", "POST"],
      ]) {
        const other = yield* request(`${url}${path}`, { method: "DELETE" })
        assert.deepStrictEqual([...problemOf(other), other.headers.get("allow")], [405, "MethodNotAllowed", allowed], path)
      }
      assert.deepStrictEqual(problemOf(yield* request(`${url}/api/v2/machines`)), [404, "RouteNotFound"])
      assert.deepStrictEqual(problemOf(yield* request(`${url}/rpc/socket`)), [426, "UpgradeNeeded"])
    }),
  )

  it.live("what is missing or wrong in an event or a request is answered in one sentence", () =>
    Effect.gen(function* () {
      const { id, url } = yield* startTally
      const detailOf = (path: string, body: unknown) =>
        Effect.map(request(`${url}/api/v1/${path}`, json(body)), ({ text }) => String(JSON.parse(text).detail))
      assert.include(yield* detailOf(`instances/tally/${id}/events`, { _tag: "Add" }), "by is missing")
      const wrong = yield* detailOf(`instances/tally/${id}/events`, { _tag: "Add", by: "two" })
      assert.match(wrong, /by: Expected .*, got "two"/)
      const long = yield* detailOf(`instances/tally/${id}/events`, { _tag: "Add", by: "x".repeat(5000) })
      assert.match(long, /, got "x{60}"… of 5000 characters/)
      assert.include(yield* detailOf(`instances/tally/${id}/events`, { _tag: "Add", by: [1, 2] }), ", got an array")
      const secret = yield* detailOf("instances/tally", { id: "two", state: { _tag: "Open", count: 0, pin: 4711 } })
      assert.include(secret, "pin: Expected string")
      assert.notInclude(secret, "4711")
      const unnamed = yield* detailOf("instances/tally", {})
      assert.include(unnamed, "id is missing")
      for (const detail of [wrong, unnamed]) assert.notInclude(detail, "\n")
    }),
  )

  it.live.each(["{}", "", "{", "null", "[]", '{"_tag":"Request"}', '{"_tag":"Request","id":"1","tag":7,"headers":[]}'])(
    "%s is not a message to a procedure, and told so",
    (body) =>
      Effect.gen(function* () {
        const { url } = yield* shared
        assert.deepStrictEqual(problemOf(yield* request(`${url}/rpc`, { ...json({}), body })), [400, "MessagesInvalid"])
      }),
  )

  it.live("SQL in filters is text, and finds nothing", () =>
    Effect.gen(function* () {
      const { client, id, url } = yield* startTally
      const attack = encodeURIComponent("tally' OR '1'='1'; DROP TABLE detent_instances; --")
      for (const path of [
        `instances?machine=${attack}`,
        `instances?state=${attack}`,
        `commands?queue=${attack}`,
        `commands?slot=${attack}&machine=${attack}&id=${attack}`,
        `upload-kinds/Items/items?text=${attack}`,
      ]) {
        const answer = yield* request(`${url}/api/v1/${path}`)
        assert.strictEqual(answer.status, 200, path)
        assert.deepStrictEqual(Object.values(JSON.parse(answer.text)), [[]], path)
      }
      assert.deepStrictEqual(problemOf(yield* request(`${url}/api/v1/upload-kinds/Items/items?batchId=${attack}`)), [404, "BatchNotFound"])
      assert.deepStrictEqual(problemOf(yield* request(`${url}/api/v1/instances/tally/${attack}`)), [404, "InstanceNotFound"])
      const { instances: listed } = yield* client.instances.list({ query: { search: id } })
      assert.deepStrictEqual(
        listed.map((one) => one.id),
        [id],
      )
    }),
  )

  it.live.each([
    ["a limit of 0", "instances?limit=0"],
    ["a limit beyond the largest page", "instances?limit=1001"],
    ["a limit that is not a number", "instances?limit=many"],
    ["a cursor that is none", "instances?after=nonsense"],
    ["a status that is none", "instances?status=asleep"],
    ["a filter given twice", "instances?machine=a&machine=b"],
    ["a batch id that is none", "batch/..%2F..%2Fetc"],
    ["a namespace that is none", "knowledge/Coast!/entities"],
    ["an IRI that ends the query", "knowledge/coast/relations?entity=x:y%3E%20%7D%20%23"],
  ])("%s is refused", ([, path]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const [status] = problemOf(yield* request(`${url}/api/v1/${path}`))
      assert.strictEqual(status, 400)
    }),
  )
})

describe("slow work", () => {
  const S = State({ Idle: {} })
  const E = Event({ Ponder: {} })
  const thought = Latch.makeUnsafe(false)
  const Thinker = Machine.make({ name: "thinker", state: S, event: E, initial: S.Idle() }).on(S.Idle, E.Ponder, S.Idle, () =>
    Effect.as(thought.await, S.Idle()),
  )

  it.live("is refused for taking too long, instead of being waited for", () =>
    Effect.gen(function* () {
      const config = defineConfig({ machines: [Thinker] })
      const { client, url } = yield* served({ config, serve: { limits: { answerTimeout: "1 second", stopTimeout: "1 second" } } })
      yield* client.instances.start({ params: { machine: "thinker" }, payload: { id: "one" } })
      const answer = yield* request(`${url}/api/v1/instances/thinker/one/events`, json({ _tag: "Ponder" }))
      assert.deepStrictEqual(problemOf(answer), [504, "AnswerTimeout"])
      // A stop waits for the end of a decision.
      yield* thought.open
    }),
  )
})

describe("bad connections", () => {
  const shared = useServed({ serve: { limits: { headersTimeout: "1 second", requestTimeout: "1 second" } } })

  it.live("bytes that are not HTTP are refused, and so are too many headers", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const nonsense = yield* conversation(url, (write) => write("HELLO\r\n\r\n"), 5000)
      assert.isTrue(nonsense.closed)
      assert.match(nonsense.text, /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*NotHttp/)
      const huge = `GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`
      const overflow = yield* conversation(url, (write) => write(huge), 5000)
      assert.match(overflow.text, /^HTTP\/1\.1 431 [\s\S]*HeadersTooLarge/)
    }),
  )

  it.live("a client that sends its headers or its body too slowly is not waited for", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const [headers, body] = yield* Effect.all(
        [
          conversation(url, (write) => write("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "), 8000),
          conversation(
            url,
            (write) =>
              write(
                "POST /api/v1/instances/tally HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
              ),
            8000,
          ),
        ],
        { concurrency: 2 },
      )
      assert.isTrue(headers.closed)
      assert.match(headers.text, /^HTTP\/1\.1 408 /)
      assert.isTrue(body.closed)
      assert.match(body.text, /^HTTP\/1\.1 408 [\s\S]*RequestTimeout/)
    }),
  )

  it.live("more requests at once than there is room for are answered with retry-after", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits: { requests: 2 } } })
      const slow = (write: (text: string) => void) =>
        write("POST /api/v1/instances/tally HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{")
      const [, answer] = yield* Effect.all(
        [
          Effect.all([conversation(url, slow, 1500), conversation(url, slow, 1500)], { concurrency: 2 }),
          Effect.delay(request(`${url}/api/v1/machines`), "500 millis"),
        ],
        { concurrency: 2 },
      )
      assert.deepStrictEqual(problemOf(answer), [503, "Busy"])
      assert.strictEqual(answer.headers.get("retry-after"), "1")
      assert.strictEqual((yield* Effect.delay(request(`${url}/api/v1/machines`), "300 millis")).status, 200)
    }),
  )
})
