/** Whether a workspace has work to do. */
import { Commands, Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type MachineEntry, Machines } from "../Machines.ts"
import { restingStates, Systems } from "../Systems.ts"

/** Whether no instance has work to do, and no command is pending or in flight. */
export const isIdle = Effect.gen(function* () {
  const counts = yield* Effect.flatMap(Commands, (commands) => commands.counts)
  if (counts.some(({ status, count }) => (status === "pending" || status === "processing") && count > 0)) return false
  const entries = yield* Effect.flatMap(Machines, (machines) => machines.list)
  // Machines that are not registered here are ignored: other processes run their instances.
  const busy = yield* Effect.filter(entries, isBusy, { concurrency: 4 })
  return busy.length === 0
})

const isBusy = Effect.fnUntraced(function* (entry: MachineEntry) {
  const journal = yield* Journal
  const working = { machine: entry.name, needsOwner: true, status: "running" } as const
  const { instances } = yield* journal.list(working, 1)
  const { knowledge } = yield* Systems
  const resting = Option.isSome(knowledge) ? restingStates[entry.name] : undefined
  if (instances.length === 0 || resting === undefined || entry._tag !== "Machine") return instances.length > 0
  const tags = entry.machine.blueprint.states.map(({ tag }) => tag).filter((tag) => !resting.includes(tag))
  const found = yield* Effect.forEach(tags, (tag) => journal.list({ ...working, tag }, 1))
  return found.some((page) => page.instances.length > 0)
})
