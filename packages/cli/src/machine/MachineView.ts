/** A machine as the commands show it, with the number of instances in each state. */
import { Journal } from "@detent/durable"
import type { Blueprint } from "@detent/machine"
import { MachineJson } from "@detent/server/MachineJson"
import { type MachineEntry, Machines } from "@detent/workspace/Machines"
import * as Effect from "effect/Effect"

export const machineView = (entry: MachineEntry) =>
  Effect.gen(function* () {
    const counts = Object.fromEntries(yield* Effect.flatMap(Journal, (journal) => journal.count(entry.name)))
    if (entry._tag === "EffectWorkflow") return { name: entry.name, kind: "effect-workflow", states: [], events: [], counts }
    const json = new MachineJson(entry.machine)
    return { name: entry.name, kind: "machine", version: entry.machine.version, states: json.stateTags, events: json.eventTags, counts }
  })

export const machineViews = Effect.flatMap(
  Effect.flatMap(Machines, (machines) => machines.list),
  (entries) => Effect.forEach(entries, machineView, { concurrency: 4 }),
)

export const countText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ")

type StateBlueprint = Blueprint["states"][number]
type Requesting = Pick<StateBlueprint, "requestsOnEnter" | "requestsOnExit" | "runs">

/** The slots that states request by themselves. States without requests are left out. */
export const stateRequests = (states: ReadonlyArray<StateBlueprint>): Readonly<Record<string, Requesting>> =>
  Object.fromEntries(
    states
      .filter(({ requestsOnEnter, requestsOnExit, runs }) => requestsOnEnter.length + requestsOnExit.length + runs.length > 0)
      .map(({ tag, requestsOnEnter, requestsOnExit, runs }) => [tag, { requestsOnEnter, requestsOnExit, runs }]),
  )

export const requestsText = ({ requestsOnEnter, requestsOnExit, runs }: Requesting): string =>
  [
    ...requestsOnEnter.map((slot) => `${slot} on enter`),
    ...requestsOnExit.map((slot) => `${slot} on exit`),
    ...runs.map((slot) => `${slot} while it lasts`),
  ].join(", ")
