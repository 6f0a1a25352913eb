/** Bringing instances back after a restart, in bulk. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { InstanceCursor, InstanceFilter } from "../store/Journal.ts"
import type { EngineCore } from "./EngineCore.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"

const pageSize = 500

/** Opens running instances whose state has work; with an empty filter, all that run. Returns their ids. */
export const resumeResidents = (
  core: EngineCore,
  registered: RegisteredMachine,
  filter: InstanceFilter = { resident: true },
): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const ids: Array<string> = []
    let after: InstanceCursor | undefined
    do {
      const page = yield* core.journal.list({ ...filter, machine: registered.name, status: "running" }, pageSize, after)
      yield* core.openAll(registered, page.instances)
      for (const { machine, id } of page.instances) if (core.isLive({ machine, id })) ids.push(id)
      after = page.next
    } while (after !== undefined)
    return [...ids, ...(yield* releaseHeld(core, registered, filter))]
  })

/** Instances that an earlier definition could not replay: this one may. Those that still do not fit stay held. */
const releaseHeld = (
  core: EngineCore,
  registered: RegisteredMachine,
  filter: InstanceFilter,
): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const ids: Array<string> = []
    let after: InstanceCursor | undefined
    do {
      const page = yield* core.journal.list({ ...filter, machine: registered.name, status: "held" }, pageSize, after)
      for (const { machine, id } of page.instances) {
        // What still does not fit has been told to the log, and stays listed as held.
        yield* Effect.ignore(core.open({ machine, id }))
        if (core.isLive({ machine, id })) ids.push(id)
      }
      after = page.next
    } while (after !== undefined)
    return ids
  })
