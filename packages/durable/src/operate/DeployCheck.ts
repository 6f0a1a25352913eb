/** Checks before a deployment whether every stored instance opens with the new definition. */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import { type Compiled, compiledOf } from "@detent/machine/internal"
import type { InstanceKey, InstanceRecord, JournalService } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { retryOnChange } from "../live/retryOnChange.ts"
import { Codec } from "../machine/Codec.ts"
import { type Recovered, recover } from "../machine/Replay.ts"
import type { Upcasters } from "../machine/Upcasters.ts"

export interface CheckReport {
  readonly checked: number
  readonly failing: ReadonlyArray<{ readonly id: string; readonly sequence: number; readonly problem: string }>
}

const pageSize = 500

interface Machinery {
  readonly compiled: Compiled
  readonly codec: Codec
  readonly upcasters: Upcasters
}

/** What a check found of an instance: it fits, it does not, or it has been removed meanwhile. */
type Found = "fits" | "removed" | { readonly sequence: number; readonly problem: string }

/** Replays one instance without changing it. */
const check = (
  journal: JournalService,
  machinery: Machinery,
  key: InstanceKey,
): Effect.Effect<Found, EventReplayError | PersistenceFailed> =>
  Effect.flatMap(journal.open(key), (opened) =>
    Option.isNone(opened)
      ? Effect.succeed("removed" as const)
      : retryOnChange(journal, opened.value, (now) =>
          Effect.map(recover(machinery, journal, now), (recovered) => compare(machinery, now.record, recovered)),
        ).pipe(Effect.catchTag("InstanceNotFound", () => Effect.succeed("removed" as const))),
  )

/**
 * An event that still replays may lead to another state than the stored one, because its decision has changed. The state may have another
 * name on purpose where an upcaster changes states.
 */
const compare = ({ compiled, upcasters }: Machinery, record: InstanceRecord, { state, sequence }: Recovered): Found => {
  if (sequence !== record.sequence || record.tag === state._tag) return "fits"
  const isRenamed = Object.entries(upcasters).some(
    ([version, { state: upcast }]) =>
      upcast !== undefined && Number(version) >= record.version && Number(version) < compiled.declarations.version,
  )
  if (isRenamed) return "fits"
  const problem = `it is stored in ${record.tag} and replays to ${state._tag}: a decision leads to another state than when its event was stored`
  return { sequence, problem }
}

/** Checks the instances that have not ended. Ended instances are not opened again, so they need not fit. */
export const checkAll = (
  journal: JournalService,
  machine: { readonly name: string },
  upcasters: Upcasters | undefined,
): Effect.Effect<CheckReport, PersistenceFailed> =>
  Effect.gen(function* () {
    const compiled = compiledOf(machine)
    const known = upcasters ?? compiled.declarations.upcasters ?? {}
    const machinery = { compiled, codec: new Codec(compiled, known), upcasters: known }
    const failing: Array<CheckReport["failing"][number]> = []
    let checked = 0
    for (const status of ["running", "held"] as const) {
      for (let after: string | undefined, isLast = false; !isLast; ) {
        const page = yield* journal.page({ machine: machine.name, status }, pageSize, after)
        for (const { id } of page) {
          const result = yield* Effect.result(check(journal, machinery, { machine: machine.name, id }))
          if (result._tag === "Success" && result.success === "removed") continue
          checked++
          if (result._tag === "Success") {
            const found = result.success
            if (typeof found === "object") failing.push({ id, ...found })
            continue
          }
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
