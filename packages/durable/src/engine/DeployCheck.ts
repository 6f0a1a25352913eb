/** Before a new definition is deployed: would every stored instance still open? */
import type { PersistenceFailed } from "@detent/machine"
import { compiledOf } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Codec } from "../instance/Codec.ts"
import { recover } from "../instance/Replay.ts"
import type { Upcasters } from "../instance/Upcasters.ts"
import type { InstanceCursor, JournalService } from "../store/Journal.ts"
import { reopening } from "./retryOnNewerSnapshot.ts"

export interface CheckReport {
  readonly checked: number
  readonly failing: ReadonlyArray<{ readonly id: string; readonly sequence: number; readonly problem: string }>
}

const pageSize = 500

/** Instances that have ended are not opened any more and need not fit. */
export const checkAll = (
  journal: JournalService,
  machine: { readonly name: string },
  upcasters: Upcasters,
): Effect.Effect<CheckReport, PersistenceFailed> =>
  Effect.gen(function* () {
    const compiled = compiledOf(machine)
    const machinery = { compiled, codec: new Codec(compiled, upcasters) }
    const failing: Array<CheckReport["failing"][number]> = []
    let checked = 0
    for (const status of ["running", "held"] as const) {
      let after: InstanceCursor | undefined
      do {
        const page = yield* journal.list({ machine: machine.name, status }, pageSize, after)
        for (const { id } of page.instances) {
          const opened = yield* journal.open({ machine: machine.name, id })
          if (Option.isNone(opened)) continue
          checked++
          const result = yield* Effect.result(reopening(journal, opened.value, (now) => recover(machinery, journal, now)))
          if (result._tag === "Success") continue
          if (result.failure._tag === "PersistenceFailed") return yield* Effect.fail(result.failure)
          failing.push({ id, sequence: result.failure.sequence, problem: result.failure.problem })
        }
        after = page.next
      } while (after !== undefined)
    }
    return { checked, failing }
  })
