/** What a node does with calls of other nodes that wait while instances leave it and come back. */
import type { Receiver, RemoteAnswer } from "@detent/durable/internal"
import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { DeliveryServer } from "../src/DeliveryServer.ts"
import type { Parcel, Progress } from "../src/Protocol.ts"

it.live("a call that waited while instances left the node and came back is not carried out there", () =>
  Effect.gen(function* () {
    const server = new DeliveryServer((effect) => Effect.runFork(effect))
    const [begun, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const carriedOut: Array<string> = []
    const receiver: Receiver = {
      serves: () => true,
      // Opening the instance takes until the database answers.
      receive: (_, requests, answer) =>
        Effect.gen(function* () {
          yield* Deferred.succeed(begun, undefined)
          yield* Deferred.await(mayEnd)
          for (const [position, request] of requests.entries()) {
            carriedOut.push(request._tag === "Send" ? request.id : request._tag)
            answer(position, { _tag: "Done" })
          }
        }),
      gained: () => undefined,
      leave: () => Effect.void,
      remaining: () => [],
    }
    server.add(receiver)
    const parcel = (id: string): Parcel => ({ machine: "job", id: "j", requests: [{ _tag: "Send", event: "{}", id }] })
    const answersTo = (id: string) =>
      Effect.callback<ReadonlyArray<RemoteAnswer["_tag"]>>((resume) => {
        const conversation = server.converse((progress) => {
          const answers = progress.flatMap(([, answered]) => answered.map(([, answer]) => answer._tag))
          if (answers.length > 0) resume(Effect.succeed(answers))
        })
        conversation.take(1, [parcel(id)])
      })
    const first = yield* Effect.forkChild(answersTo("first"))
    yield* Deferred.await(begun)
    const second = yield* Effect.forkChild(answersTo("second"))
    yield* Effect.yieldNow
    for (const one of server.receivers) yield* one.leave(() => true, "lost")
    for (const one of server.receivers) one.gained()
    yield* Deferred.succeed(mayEnd, undefined)
    expect(yield* Fiber.join(first)).toEqual(["Done"])
    expect(yield* Fiber.join(second)).toEqual(["Elsewhere"])
    expect(carriedOut).toEqual(["first"])
    expect(yield* answersTo("third")).toEqual(["Done"])
  }),
)

it.live("what becomes known in one turn is one report for all calls of a connection, once the instances have the requests of a call", () =>
  Effect.gen(function* () {
    const server = new DeliveryServer((effect) => Effect.runFork(effect))
    const opened = yield* Deferred.make<void>()
    const stored: Array<() => void> = []
    server.add({
      serves: () => true,
      // One instance is in memory and takes its events at once; the other must be read first.
      receive: ({ id }, requests, answer) => {
        const take = () => {
          for (const position of requests.keys()) stored.push(() => answer(position, { _tag: "Done" }))
        }
        if (id !== "near") return Effect.andThen(Deferred.await(opened), Effect.sync(take))
        take()
        return undefined
      },
      gained: () => undefined,
      leave: () => Effect.void,
      remaining: () => [],
    })
    const reports: Array<Progress> = []
    const conversation = server.converse((progress) => reports.push(progress))
    const parcel = (id: string, ...ids: ReadonlyArray<string>): Parcel => ({
      machine: "job",
      id,
      requests: ids.map((one) => ({ _tag: "Send", event: "{}", id: one })),
    })
    const storeAll = Effect.andThen(
      Effect.sync(() => {
        for (const answer of stored.splice(0)) answer()
      }),
      Effect.sleep(5),
    )
    conversation.take(1, [parcel("near", "a", "b")])
    conversation.take(2, [parcel("near", "c")])
    conversation.take(3, [parcel("near", "d"), parcel("far", "e")])
    yield* Effect.sleep(5)
    expect(reports.splice(0)).toEqual([
      [
        [1, []],
        [2, []],
      ],
    ])
    yield* storeAll
    const done: RemoteAnswer = { _tag: "Done" }
    const firstAndSecond = [
      [0, done],
      [1, done],
    ]
    expect(reports.splice(0)).toEqual([
      [
        [1, firstAndSecond],
        [2, [[0, done]]],
      ],
    ])
    expect(conversation.isAwaited).toBe(true)
    yield* Deferred.succeed(opened, undefined)
    yield* Effect.sleep(5)
    expect(reports.splice(0)).toEqual([[[3, [[0, done]]]]])
    yield* storeAll
    expect(reports).toEqual([[[3, [[1, done]]]]])
    expect(conversation.isAwaited).toBe(false)
  }),
)

it.live("an engine that closes takes no more requests, and is still asked whether work of its instances has ended", () =>
  Effect.gen(function* () {
    const server = new DeliveryServer((effect) => Effect.runFork(effect))
    const key = { machine: "job", id: "j" }
    let gained = 0
    const close = server.add({
      serves: () => true,
      receive: (_, __, answer) => {
        answer(0, { _tag: "Done" })
        return undefined
      },
      gained: () => gained++,
      leave: () => Effect.void,
      remaining: (isLeaving) => [key].filter(isLeaving),
    })
    close()
    const reports: Array<Progress> = []
    server.converse((progress) => reports.push(progress)).take(1, [{ ...key, requests: [{ _tag: "Wake" }] }])
    yield* Effect.sleep(5)
    expect(reports).toMatchObject([[[1, [[0, { _tag: "Elsewhere" }]]]]])
    for (const receiver of server.receivers) receiver.gained()
    expect(gained).toBe(0)
    expect([...server.receivers].flatMap((receiver) => receiver.remaining(() => true))).toEqual([key])
  }),
)
