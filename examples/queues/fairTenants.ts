/**
 * One tenant cannot starve the others: acme has 500 mails to send, bloom and cafe have three each. The groups of a queue take turns, and no
 * tenant has more than two mails in flight.
 */
import { CommandQueue, CommandWorker, Queues } from "@detent/durable"
import { openEngine } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })

const sent: Array<string> = []
const inFlight = { now: 0, most: 0 }

const worker = CommandWorker.layer([
  Mails.handler(async (_, { group }) => {
    if (group === "acme") inFlight.most = Math.max(inFlight.most, ++inFlight.now)
    await new Promise((resolve) => setTimeout(resolve, 2))
    if (group === "acme") inFlight.now--
    sent.push(group ?? "no group")
  }),
])

await using engine = await openEngine({ database: `sqlite:${process.argv[2] ?? ":memory:"}`, layer: worker })
await engine.runEffect(Queues.limit("mails", { perGroup: { concurrency: 2 } }))

const mails = (tenant: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ payload: { to: `${index}@${tenant}.example` }, group: tenant }))
await engine.runEffect(Mails.enqueueAll(mails("acme", 500)))
await engine.runEffect(Mails.enqueueAll([...mails("bloom", 3), ...mails("cafe", 3)]))

const has = (tenant: string, count: number) => sent.filter((one) => one === tenant).length >= count
while (!has("bloom", 3) || !has("cafe", 3)) await new Promise((resolve) => setTimeout(resolve, 5))
console.log(`bloom and cafe have their mails, and acme still waits for some: ${!has("acme", 500)}`)

// Limits are data: they are changed while the workers run.
await engine.runEffect(Queues.limitGroup("mails", "acme", { concurrency: 8 }))
while (!has("acme", 500)) await new Promise((resolve) => setTimeout(resolve, 20))
console.log(`acme has its mails, with at most ${inFlight.most <= 8 ? "eight" : inFlight.most} in flight`)
