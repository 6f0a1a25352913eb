/** Live actors: events sent to orders that any code could subscribe to. */
import { deepStrictEqual } from "node:assert/strict"
import { type Contestant, contestInProcesses, oneByOne } from "../../measure/Contest.ts"
import type { Part } from "../../measure/Group.ts"
import { type Table, times } from "../../measure/Table.ts"
import { load, type SendingEntry } from "./Entry.ts"
import { sending as ours, playInFiber, sendInFiber } from "./order/detent.ts"
import { events, expected, type Order } from "./order/workload.ts"
import { sendingTiming } from "./timing.ts"

const inFiber = "detent, yield* send"

export const send: Part = async (settings) => {
  const timing = sendingTiming(settings)
  const sends = await contestInProcesses(import.meta.url, "senders", timing)
  const wholes = await contestInProcesses(import.meta.url, "rounds", timing)
  return {
    tables: [
      table("Sends, W2: 7 events to a live order that exists already", sends),
      table("Sends, W2: a live order is created, then 7 events", wholes, ["detent creates in an actor system, under an id."]),
    ],
    figures: {
      "send.vsXstate": ratio(sends, "xstate", ours.name),
      "send.vsRobot": ratio(sends, "robot3", ours.name),
      "send.vsStore": ratio(sends, "@xstate/store", ours.name),
      "send.inFiber.vsXstate": ratio(sends, "xstate", inFiber),
      "send.nanosecondsPerEvent": (sends.get(ours.name) ?? Number.NaN) / events.length,
      "send.round.vsXstate": ratio(wholes, "xstate", ours.name),
      "send.round.inFiber.vsXstate": ratio(wholes, "xstate", inFiber),
    },
  }
}

const entries = async () => {
  const files = ["store.mts", "robot.mts", "xstate.mts"]
  const peers = await Promise.all(files.map((file) => load<{ readonly sending: SendingEntry<Order> }>(`./order/${file}`)))
  const all = [ours, ...peers.map(({ sending }) => sending)]
  for (const { name, create, send, read } of all) deepStrictEqual(read(send(create())), expected, `${name} ends differently`)
  return all
}

export const senders = async (): Promise<ReadonlyArray<Contestant<unknown>>> => [
  ...(await entries()).map(sendsOnly),
  { name: inFiber, prepare: many(ours.create), play: sendInFiber },
]

export const rounds = async (): Promise<ReadonlyArray<Contestant<unknown>>> => [
  ...(await entries()).map(wholeRounds),
  { name: inFiber, prepare: (count: number) => count, play: playInFiber },
]

const many = (create: () => unknown) => (count: number) => Array.from({ length: count }, create)

const sendsOnly = ({ name, create, send }: SendingEntry<Order>): Contestant<ReadonlyArray<unknown>> => ({
  name,
  prepare: many(create),
  play: oneByOne(send),
})

const wholeRounds = ({ name, create, send }: SendingEntry<Order>): Contestant<ReadonlyArray<unknown>> => ({
  name,
  prepare: (count) => Array.from({ length: count }),
  play: oneByOne(() => send(create())),
})

const ratio = (results: ReadonlyMap<string, number>, other: string, one: string) =>
  (results.get(other) ?? Number.NaN) / (results.get(one) ?? Number.NaN)

const table = (title: string, results: ReadonlyMap<string, number>, notes: ReadonlyArray<string> = []): Table => ({
  title,
  columns: ["", "ns per round", "ns per event", "sendUnsafe is faster by"],
  rows: [...results].map(([name, round]) => [
    name,
    round.toFixed(0),
    (round / events.length).toFixed(1),
    times(ratio(results, name, ours.name)),
  ]),
  notes,
})
