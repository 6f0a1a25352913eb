import * as clients from "@detent/api/client"
import * as NodeWS from "@effect/platform-node/NodeWS"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served } from "../support/served.ts"

/** A WebSocket that sends any text. */
const open = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Conversation>((resolve, reject) => {
          const socket = new NodeWS.WebSocket(`${url.replace("http", "ws")}/rpc/socket`)
          socket.once("open", () => resolve(new Conversation(socket))).once("error", reject)
        }),
    ),
    ({ socket }) => Effect.sync(() => socket.terminate()),
  )

class Conversation {
  readonly socket: NodeWS.WebSocket
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they please.
  readonly answers: Array<any> = []
  closedWith: number | undefined
  #wake = () => {}

  constructor(socket: NodeWS.WebSocket) {
    this.socket = socket
    socket.on("message", (data) => {
      for (const line of String(data).trim().split("\n")) this.answers.push(JSON.parse(line))
      this.#wake()
    })
    socket.on("error", () => {})
    socket.on("close", (code) => {
      this.closedWith = code
      this.#wake()
    })
  }

  send(...messages: ReadonlyArray<unknown>) {
    this.socket.send(messages.map((message) => `${JSON.stringify(message)}\n`).join(""))
  }

  until(isEnough: () => boolean) {
    return Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          this.#wake = () => {
            if (isEnough()) resolve()
          }
          this.#wake()
        }),
    )
  }
}

const asking = (id: string, tag: string, payload: unknown) => ({ _tag: "Request", id, tag, payload, headers: [] })
const status = (id: string) => asking(id, "batch_getStatus", { batchId: "batch-000000000000" })

interface Answer {
  readonly requestId: string
  readonly exit: { readonly cause: ReadonlyArray<{ readonly error: { readonly _tag: string; readonly detail: string } }> }
}

const problemOf = ({ exit }: Answer) => exit.cause[0]?.error ?? { _tag: "none", detail: "" }

const problemTag = (answer: Answer) => problemOf(answer)._tag

describe("a WebSocket of procedures", () => {
  const invalid = [
    ["no JSON", "hello"],
    ["nothing", ""],
    ["an empty line", "\n"],
    ["null", "null\n"],
    ["a list", "[]\n"],
    ["a number", "7\n"],
    ["an object without tag", "{}\n"],
    ["a request without id", '{"_tag":"Request"}\n'],
    ["a procedure whose name is not text", '{"_tag":"Request","id":"1","tag":7,"headers":[]}\n'],
    ["headers that are not headers", '{"_tag":"Request","id":"1","tag":"batch_getStatus","headers":[["x"]]}\n'],
    ["an id that is not an id", '{"_tag":"Request","id":{},"tag":"batch_getStatus","headers":[]}\n'],
    ["an answer of a server", '{"_tag":"Exit","requestId":"1"}\n'],
    ["a message that is cut off", '{"_tag":"Request","id":"1","tag":"batch_get'],
    ["a message and then none", `${JSON.stringify({ _tag: "Ping" })}\n{\n`],
    ["a message named like the prototype", '{"_tag":"__proto__","__proto__":{"_tag":"Ping"}}\n'],
    ["lists as deep as they get", "[".repeat(100_000)],
    ["two requests with one id", `${JSON.stringify(status("1"))}\n`.repeat(2)],
    ["bytes that are not text", Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ] as const

  it.live("tells what is not a message, as over HTTP, and continues with the next", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const conversation = yield* open(url)
      for (const [index, [name, data]] of invalid.entries()) {
        conversation.socket.send(data)
        yield* conversation.until(() => conversation.answers.length > 2 * index)
        const told = conversation.answers.at(-1)
        assert.strictEqual(told._tag, "Defect", name)
        assert.match(told.defect.message, /whole messages of the RPC client/, name)
        assert.notProperty(told.defect, "stack")
        const posted = yield* request(`${url}/rpc`, { ...json({}), body: data })
        assert.deepStrictEqual([posted.status, JSON.parse(posted.text).type], [400, "urn:detent:problem:MessagesInvalid"], name)
        conversation.send(status(name))
        yield* conversation.until(() => conversation.answers.length > 2 * index + 1)
        assert.strictEqual(problemTag(conversation.answers.at(-1)), "NotFound", name)
      }
    }),
  )

  it.live("is closed on a message that is larger than a body may be, and others continue", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits: { bodyBytes: 10_000 } } })
      const [large, other] = yield* Effect.all([open(url), open(url)])
      large.send(asking("1", "batch_getStatus", { batchId: "x".repeat(20_000) }))
      yield* large.until(() => large.closedWith !== undefined)
      assert.strictEqual(large.closedWith, 1009)
      other.send(status("1"))
      yield* other.until(() => other.answers.length === 1)
      assert.strictEqual(problemTag(other.answers[0]), "NotFound")
    }),
  )

  it.live("refuses what a procedure does not take and a procedure that is none; whatever it sends after its end, others continue", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const [hostile, other] = yield* Effect.all([open(url), open(url)])
      hostile.send(
        asking("1", "batch_getStatus", { batchId: "../../etc/passwd" }),
        asking("2", "toString", {}),
        asking("3", "batch_start", null),
      )
      yield* hostile.until(() => hostile.answers.length === 3)
      const told = new Map(hostile.answers.map((answer) => [answer.requestId, answer]))
      assert.deepStrictEqual(
        ["1", "2", "3"].map((id) => [told.get(id)._tag, told.get(id).exit._tag, told.get(id).exit.cause[0]._tag]),
        [
          ["Exit", "Failure", "Fail"],
          ["Exit", "Failure", "Die"],
          ["Exit", "Failure", "Fail"],
        ],
      )
      assert.deepStrictEqual([problemTag(told.get("1")), problemTag(told.get("3"))], ["BadRequest", "BadRequest"])
      hostile.send({ _tag: "Ack", requestId: "none" }, { _tag: "Interrupt", requestId: "none" }, { _tag: "Eof" }, status("4"))
      other.send(status("1"))
      yield* other.until(() => other.answers.length === 1)
      assert.strictEqual(problemTag(other.answers[0]), "NotFound")
    }),
  )

  it.live("refuses a key that a procedure does not know with the nearest one, as over HTTP, and nothing is done", () =>
    Effect.gen(function* () {
      const { url, client } = yield* served()
      const conversation = yield* open(url)
      const messages = [
        asking("1", "batch_start", { folder: corpusFolder, manifest: smallManifest, confg: {} }),
        asking("2", "batch_getStatus", { batchId: "batch-000000000000", batchid: "x" }),
        asking("3", "execution_sendEvent", { workflow: "trip", id: "one", event: "go", valeu: 1 }),
        asking("4", "command_retry", { key: "none", dryrun: true }),
      ]
      conversation.send(...messages)
      yield* conversation.until(() => conversation.answers.length === 4)
      const posted = yield* request(`${url}/rpc`, { ...json({}), body: messages.map((message) => `${JSON.stringify(message)}\n`).join("") })
      const answers = posted.text.trim().split("\n")
      for (const told of [conversation.answers, answers.map((line) => JSON.parse(line))]) {
        const problems = told.toSorted((left, right) => Number(left.requestId) - Number(right.requestId)).map(problemOf)
        assert.deepStrictEqual(
          problems.map(({ _tag }) => _tag),
          ["BadRequest", "BadRequest", "BadRequest", "BadRequest"],
        )
        assert.include(problems[0]?.detail ?? "", "confg is not known; did you mean config?")
        assert.include(problems[1]?.detail ?? "", "batchid is not known; did you mean batchId?")
        assert.include(problems[2]?.detail ?? "", "valeu is not known; did you mean value?")
        assert.include(problems[3]?.detail ?? "", "dryrun is not known; did you mean dryRun?")
      }
      assert.deepStrictEqual((yield* client.batches.list({ query: {} })).batches, [])
    }),
  )

  it.live("takes no more procedures at once than requests, and says so; over HTTP neither", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ serve: { limits: { requests: 2 } } })
      // Whether there are such documents is looked up in files, which takes a moment.
      const manifest = { ...smallManifest, documents: [{ source: "documents/none.txt" }] }
      const many = Array.from({ length: 50 }, (_, index) => asking(String(index), "batch_start", { folder: corpusFolder, manifest }))
      const conversation = yield* open(url)
      conversation.send(...many)
      yield* conversation.until(() => conversation.answers.length === many.length)
      const posted = yield* request(`${url}/rpc`, { ...json({}), body: many.map((one) => JSON.stringify(one)).join("\n") })
      // Its last line need not end.
      const lines = posted.text.trim().split("\n")
      for (const answers of [conversation.answers, lines.map((line) => JSON.parse(line))]) {
        const { Unprocessable = [], Unavailable = [] } = Object.groupBy(answers.map(problemTag), (tag) => tag ?? "")
        assert.isAtLeast(Unprocessable.length, 2)
        assert.isAtLeast(Unavailable.length, 1)
        assert.strictEqual(Unprocessable.length + Unavailable.length, many.length)
      }
      // There is room again.
      const rpc = yield* clients.makeRpcSocketClient({ url })
      const unknown = yield* Effect.flip(rpc.batch_getStatus({ batchId: "batch-000000000000" as never }))
      assert.strictEqual(unknown._tag, "NotFound")
    }),
  )

  it.live("is given up when its client asks and asks and reads no answer", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const conversation = yield* open(url)
      conversation.socket.pause()
      // The answer for an unknown procedure names it, and so is as long as the question.
      const question = asking("1", "x".repeat(500_000), {})
      for (let count = 0; count < 60; count++) conversation.send(question)
      yield* Effect.sleep("3 seconds")
      conversation.socket.resume()
      yield* conversation.until(() => conversation.closedWith !== undefined)
      assert.isBelow(conversation.answers.length, 60)
      assert.strictEqual((yield* request(`${url}/health/ready`)).status, 200)
    }),
  )
})
