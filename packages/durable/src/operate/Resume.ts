/** Brings instances into memory in bulk, page by page in the order of their ids. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { EngineParts } from "../engine/EngineParts.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"

const pageSize = 500

/** Opens all running instances of a machine, and held ones that replay again. Returns the ids of those that are in memory now. */
export const openRunning = (engine: EngineParts, machine: RegisteredMachine): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const running = yield* eachPage(engine, machine, "running", (ids) =>
      engine.table.openAll(
        machine,
        ids.map((id) => ({ machine: machine.name, id })),
      ),
    )
    return [...running, ...(yield* releaseHeld(engine, machine))]
  })

/** Opens instances that an earlier definition could not replay. Those that still do not fit stay held, and have been logged. */
export const releaseHeld = (engine: EngineParts, machine: RegisteredMachine): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  eachPage(engine, machine, "held", (ids) =>
    Effect.forEach(ids, (id) => Effect.ignore(engine.table.open({ machine: machine.name, id })), { discard: true }),
  )

const eachPage = (
  { journal, table }: EngineParts,
  { name: machine }: RegisteredMachine,
  status: "running" | "held",
  open: (ids: ReadonlyArray<string>) => Effect.Effect<unknown, PersistenceFailed>,
): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const live: Array<string> = []
    for (let after: string | undefined; ; ) {
      const page = yield* journal.page({ machine, status }, pageSize, after)
      const ids = page.map(({ id }) => id)
      yield* open(ids)
      live.push(...ids.filter((id) => table.find({ machine, id }) !== undefined))
      if (page.length < pageSize) return live
      after = ids.at(-1)
    }
  })
