/**
 * Can it hold 10,000 timers? Each instance has a deadline of its own in the database. An engine arms the timers that are due soon; a sweep finds
 * those that no engine has in memory.
 *
 * Run it: `npx node examples/questions/ten-thousand-timers.ts`
 */
import { setTimeout } from "node:timers/promises"
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, State } from "@detent/machine"

const S = State({ Waiting: {}, Fired: {} })
const Reminder = Machine.make({ name: "reminder", state: S, event: Event({}), initial: S.Waiting() })
  .timeout(S.Waiting, "1 second", S.Fired)
  .final(S.Fired)

await using engine = await openEngine({ database: "sqlite:reminders.db", machines: [Reminder] })
const ids = Array.from({ length: 10_000 }, (_, index) => `reminder-${index}`)
await Promise.all(ids.map((id) => engine.start(Reminder, id)))
console.log(`${ids.length} timers are stored`)

while ((await engine.list(Reminder, { state: "Waiting", limit: 1 })).instances.length > 0) await setTimeout(100)

const fired = []
for (let page = await engine.list(Reminder, { state: "Fired", limit: 1000 }); ; ) {
  fired.push(...page.instances)
  if (page.next === undefined) break
  page = await engine.list(Reminder, { state: "Fired", limit: 1000, after: page.next })
}
const once = fired.filter(({ sequence }) => sequence === 1)
const early = fired.filter(({ startedAt, updatedAt }) => updatedAt - startedAt < 1000)
console.log(`${once.length} fired once, ${early.length} before their deadline`)
