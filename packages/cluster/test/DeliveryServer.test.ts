/** What a node does with calls of other nodes that wait while instances leave it and come back. */
import type { Receiver, RemoteAnswer } from "@detent/durable/internal"
import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { DeliveryServer } from "../src/DeliveryServer.ts"
import type { Parcel } from "../src/Protocol.ts"

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
    }
    server.add(receiver)
    const parcel = (id: string): Parcel => ({ machine: "job", id: "j", requests: [{ _tag: "Send", event: "{}", id }] })
    const answersTo = (id: string) =>
      Effect.map(Stream.runCollect(server.deliver([parcel(id)], 10_000)), (progress) =>
        [...progress].flatMap(({ answers }) => answers.map(([, answer]): RemoteAnswer["_tag"] => answer._tag)),
      )
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
