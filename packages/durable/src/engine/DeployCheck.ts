/** Checks before a deployment whether every stored instance opens with the new definition. */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import { type Compiled, compiledOf } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Codec } from "../instance/Codec.ts"
import { recover } from "../instance/Replay.ts"
import type { Upcasters } from "../instance/Upcasters.ts"
import type { InstanceKey } from "../store/Commit.ts"
import type { JournalService } from "../store/Journal.ts"
import { retryOnChange } from "./retryOnChange.ts"

export interface CheckReport {
  readonly checked: number
  readonly failing: ReadonlyArray<{ readonly id: string; readonly sequence: number; readonly problem: string }>
}

const pageSize = 500

/** Replays one instance without changing it. False where it has been removed meanwhile. */
const check = (
  journal: JournalService,
  machinery: { readonly compiled: Compiled; readonly codec: Codec },
  key: InstanceKey,
): Effect.Effect<boolean, EventReplayError | PersistenceFailed> =>
  Effect.flatMap(journal.open(key), (opened) =>
    Option.isNone(opened)
      ? Effect.succeed(false)
      : retryOnChange(journal, opened.value, (now) => recover(machinery, journal, now)).pipe(
          Effect.as(true),
          Effect.catchTag("InstanceNotFound", () => Effect.succeed(false)),
        ),
  )

/** Checks the instances that have not ended. Ended instances are not opened again, so they need not fit. */
export const checkAll = (
  journal: JournalService,
  machine: { readonly name: string },
  upcasters: Upcasters | undefined,
): Effect.Effect<CheckReport, PersistenceFailed> =>
  Effect.gen(function* () {
    const compiled = compiledOf(machine)
    const machinery = { compiled, codec: new Codec(compiled, upcasters ?? compiled.declarations.upcasters ?? {}) }
    const failing: Array<CheckReport["failing"][number]> = []
    let checked = 0
    for (const status of ["running", "held"] as const) {
      for (let after: string | undefined, isLast = false; !isLast; ) {
        const page = yield* journal.page({ machine: machine.name, status }, pageSize, after)
        for (const { id } of page) {
          const result = yield* Effect.result(check(journal, machinery, { machine: machine.name, id }))
          if (result._tag === "Success" && !result.success) continue
          checked++
          if (result._tag === "Success") continue
          const { failure } = result
          failing.push(
            failure._tag === "EventReplayError"
              ? { id, sequence: failure.sequence, problem: failure.problem }
              : { id, sequence: 0, problem: failure.message },
          )
        }
        after = page.at(-1)?.id
        isLast = page.length < pageSize
      }
    }
    return { checked, failing }
  })
