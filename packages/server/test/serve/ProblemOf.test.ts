import { reachOperation } from "@detent/durable/internal"
import { EventReplayError, MachineStopped, Overloaded, PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { answering, badRequest, problemOf } from "../../src/serve/ProblemOf.ts"

const Order = Schema.Struct({ total: Schema.Int, lines: Schema.Array(Schema.Struct({ count: Schema.Int })) })

const detailFor = (order: unknown) =>
  Effect.map(Effect.flip(Schema.decodeUnknownEffect(Order)(order, { errors: "all" })), ({ message: problem }) => {
    const held = new EventReplayError({ machine: "order", id: "one", state: "Open", event: "Add", sequence: 7, problem })
    return problemOf(held).detail
  })

describe("a problem", () => {
  it.effect("with stored data is answered in one line", () =>
    Effect.gen(function* () {
      assert.match(yield* detailFor({ lines: [] }), /: total is missing$/)
      assert.match(yield* detailFor({ total: 1, lines: [{ count: "x" }] }), /: Expected [^\n]* at lines\.0\.count$/)
      const both = yield* detailFor({ lines: [{}] })
      assert.match(both, /: total is missing; lines\.0\.count is missing$/)
    }),
  )

  it("of a server that takes nothing says why, not that something ended", () => {
    const stopped = new MachineStopped({ machine: "order", id: "one", state: "(unknown)", reason: "the engine was stopped" })
    assert.strictEqual(problemOf(stopped).detail, "the engine was stopped")
    assert.include(problemOf(new MachineStopped({ ...stopped, state: "Paid" })).detail, "ended in state Paid")
  })

  it("of a request that no node of a cluster answered does not blame the store", () => {
    const cause = new Error("10.0.0.8:7700 does not answer")
    const failed = (operation: string) => problemOf(new PersistenceFailed({ machine: "order", id: "one", operation, cause })).detail
    assert.match(failed(reachOperation), /^no node of the cluster answered for the instance; a change may have been made, so retry with/)
    assert.match(failed("commit"), /^the store failed, or its answer was lost; a change may have been made, so retry with/)
    assert.notInclude(failed(reachOperation), "10.0.0.8")
  })

  it("of an instance that has no room for more events says so, with the next step, and names no node", () => {
    const waiting = { machine: "order", id: "one", waiting: 100_000 }
    const local = problemOf(new Overloaded({ ...waiting, state: "Open" }))
    assert.deepInclude(local, { status: 503, type: "urn:detent:problem:Overloaded" })
    assert.match(local.detail, /100000 events wait already in state Open; send it again later$/)
    const distant = problemOf(new Overloaded({ ...waiting, state: "(on another node)", characters: 7, node: "10.0.0.8:7700" }))
    assert.match(distant.detail, /100000 requests of 7 characters wait already for the node that has it; send it again later$/)
    assert.notInclude(distant.detail, "10.0.0.8")
  })

  it("of a task that is to be delivered again says why, and repeats no password", () => {
    const postponed = (message: string) => problemOf({ _tag: "TaskPostponed", message })
    assert.deepInclude(postponed("it is to be tried again: gs://docs/a.txt is locked"), {
      status: 503,
      detail: "it is to be tried again: gs://docs/a.txt is locked",
    })
    const { detail } = postponed("it is to be tried again: no answer from postgres://ada:hunter2@db/detent")
    assert.strictEqual(detail, "it is to be tried again: no answer from postgres://•••@db/detent")
  })

  it("that repeats a long text of the request is answered at once, with the cause and the next step", () => {
    for (const part of ["a-", "a+", "a.", "://", "a://b"]) {
      const message = `the query calls <http://${part.repeat(1_000_000)}>, which is not allowed; leave out SERVICE`
      const start = performance.now()
      const { detail } = problemOf({ _tag: "QueryRefused", message })
      assert.isBelow(performance.now() - start, 5000)
      assert.isBelow(detail.length, 5000)
      assert.match(detail, /^the query calls <http:\/\//)
      assert.match(detail, /…/)
      assert.match(detail, /which is not allowed; leave out SERVICE$/)
      const asked = badRequest("BodyInvalid", message)
      assert.strictEqual(asked.detail.length, detail.length)
    }
  })

  it.effect("that a queue meets by calling again is a warning in the log, another one of the server's an error", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make<unknown, void>(({ logLevel, message }) => void logged.push(`${logLevel}: ${[message].flat().join(" ")}`))
      const postponed = Object.assign(new Error("it is to be tried again"), { _tag: "TaskPostponed" })
      const cause = new Error("no route to postgres://detent:sesame@db/detent")
      const away = Object.assign(new Error("the store is away", { cause }), { _tag: "PersistenceFailed" })
      for (const error of [postponed, away]) {
        const { status } = yield* Effect.flip(Effect.provide(answering(Effect.fail(error)), Logger.layer([logger])))
        assert.strictEqual(status, 503)
      }
      assert.deepStrictEqual(logged, [
        "Warn: it is to be tried again",
        "Error: the store is away: no route to postgres://detent:•••@db/detent",
      ])
    }),
  )
})
