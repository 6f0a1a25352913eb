import { CommandQueue, CommandWorker, Queues } from "@detent/durable"
import { openEngine } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })

await using engine = await openEngine({ database: "memory", layer: CommandWorker.layer([Mails.handler(async () => {})]) })

// #region limits
await engine.runEffect(
  Queues.limit("mails", {
    concurrency: 20,
    rate: { limit: 100, interval: "1 minute" },
    perGroup: { concurrency: 2, rate: { limit: 10, interval: "1 minute" } },
  }),
)
await engine.runEffect(Queues.limitGroup("mails", "acme", { concurrency: 8 })) // in place of the 2; its rate stays 10
console.log(await engine.runEffect(Queues.groups("mails")))
// #endregion limits

// #region repeated
const to = { to: "ada@example.org" }
await engine.runEffect(Mails.enqueue(to, { key: "digest-7", group: "acme", unique: "while pending" }))
await engine.runEffect(Mails.enqueue(to, { key: "changes-7", group: "acme", debounce: "5 minutes" }))
await engine.runEffect(Mails.enqueue(to, { key: "alarm-7", group: "acme", throttle: "1 hour" }))
// #endregion repeated
