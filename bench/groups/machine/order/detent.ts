/** This library's entries: decisions, and actors in one system. */
import { type Actor, ActorSystem, Machine } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { DecidingEntry, SendingEntry } from "../Entry.ts"
import { type E, Order as OrderMachine, orderEvents, type S } from "./machine.ts"
import type { Order } from "./workload.ts"

type OrderState = typeof S.Type
type OrderActor = Actor<OrderState, typeof E.Type>

const read = (end: unknown): Order => {
  const { _tag, items, total } = end as OrderState
  return { status: _tag, items, total }
}

export const deciding: DecidingEntry<Order> = {
  name: "detent",
  play: () => {
    const beginning = Machine.begin(OrderMachine, undefined)
    if (beginning._tag === "Refused") throw beginning.error
    let state: OrderState = beginning.state
    for (const event of orderEvents) {
      const decision = Machine.decide(OrderMachine, state, event)
      if (decision._tag !== "Goto" && decision._tag !== "Stay") throw new Error(`the order is ${decision._tag}`)
      state = decision.state
    }
    return state
  },
  read,
}

const makeSystem = () => ManagedRuntime.make(ActorSystem.layer).runSync(Effect.flatMap(ActorSystem, Effect.succeed))

const system = makeSystem()

let created = 0
const spawnOrder = (into = system) => into.spawn(`order-${created++}`, OrderMachine)

export const sending: SendingEntry<Order> = {
  name: "detent, sendUnsafe",
  create: () => Effect.runSync(spawnOrder()),
  send: (actor) => {
    const order = actor as OrderActor
    for (const event of orderEvents) {
      if (order.sendUnsafe(event)?._tag !== "Success") throw new Error(`the order refuses ${event._tag}`)
    }
    return order
  },
  read: (end) => read((end as OrderActor).snapshotUnsafe().state),
}

/** Sends to many orders from one fiber, as an Effect program does. */
export const sendInFiber = (actors: ReadonlyArray<unknown>) =>
  Effect.runSync(
    Effect.gen(function* () {
      for (const actor of actors as ReadonlyArray<OrderActor>) {
        for (const event of orderEvents) yield* actor.send(event)
      }
    }),
  )

/** Creates orders and sends to them from one fiber. */
export const playInFiber = (rounds: number) =>
  Effect.runSync(
    Effect.gen(function* () {
      for (let round = 0; round < rounds; round++) {
        const actor = yield* spawnOrder()
        for (const event of orderEvents) yield* actor.send(event)
      }
    }),
  )

/** Creates many orders from one fiber, in a system of their own. */
export const createMany = (count: number): ReadonlyArray<unknown> => {
  const crowd = makeSystem()
  return Effect.runSync(
    Effect.gen(function* () {
      const actors: Array<OrderActor> = []
      for (let index = 0; index < count; index++) actors.push(yield* spawnOrder(crowd))
      return actors
    }),
  )
}
