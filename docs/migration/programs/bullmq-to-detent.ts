import { setTimeout } from "node:timers/promises"
import { CommandQueue, Commands, CommandWorker, DeadLetters, Queues } from "@detent/durable"
import { openEngine } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Mails = CommandQueue.make("mails", {
  payload: Schema.Struct({ to: Schema.String }),
  retry: RetryPolicy.exponential({ initialDelay: "1 second", maxAttempts: 5 }),
})

const worker = CommandWorker.layer([Mails.handler(async ({ to }, { key }) => console.log(`mail to ${to} under the key ${key}`))], {
  concurrency: 16,
})

await using engine = await openEngine({ database: "memory", layer: worker })
await engine.runEffect(Queues.limit("mails", { rate: { limit: 100, interval: "1 minute" } }))
await engine.runEffect(Mails.enqueue({ to: "ada@example.org" }, { key: "welcome-7" }))
await engine.runEffect(Mails.enqueue({ to: "ada@example.org" }, { key: "welcome-7" })) // the same key: nothing is added
await engine.runEffect(Mails.enqueue({ to: "grace@example.org" }, { key: "reminder-7", delay: "50 millis", priority: 1 }))

const isBusy = async () => {
  const counts = await engine.runEffect(Effect.flatMap(Commands, (commands) => commands.counts))
  return counts.some(({ status }) => status === "pending" || status === "processing")
}
while (await isBusy()) await setTimeout(20)
console.log(`${(await engine.runEffect(DeadLetters.list({ queue: "mails" }))).commands.length} dead letters`)
