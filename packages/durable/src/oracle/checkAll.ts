/** Checks before a deployment whether every stored instance opens with the new definition, in this process and with the open store. */
import type { PersistenceFailed } from "@detent/machine"
import { compiledOf } from "@detent/machine/internal"
import type { JournalService } from "@detent/store"
import * as Effect from "effect/Effect"
import { Codec } from "../machine/Codec.ts"
import type { Upcasters } from "../machine/Upcasters.ts"
import type { Side } from "./Difference.ts"
import type { Finding } from "./Findings.ts"
import { judgeInstances, judgeRange } from "./judgeRange.ts"
import { Probes } from "./Probes.ts"
import { readerOf } from "./readerOf.ts"

export interface CheckReport {
  readonly checked: number
  readonly failing: ReadonlyArray<{ readonly id: string; readonly sequence: number; readonly problem: string }>
}

/** A definition as the oracle needs it. Default of the upcasters: those of the definition. */
export const sideOf = (machine: { readonly name: string }, upcasters?: Upcasters): Side => {
  const compiled = compiledOf(machine)
  const known = upcasters ?? compiled.declarations.upcasters ?? {}
  return { compiled, codec: new Codec(compiled, known), upcasters: known }
}

/** Checks the instances that have not ended. Ended instances are not opened again, so they need not fit. */
export const checkAll = (
  journal: JournalService,
  machine: { readonly name: string },
  upcasters: Upcasters | undefined,
): Effect.Effect<CheckReport, PersistenceFailed> => {
  const judging = judgeInstances({ before: undefined, after: sideOf(machine, upcasters), whatIf: undefined, probes: new Probes() })
  const selection = { machine: machine.name, unended: true, ended: undefined }
  const judged = judgeRange(readerOf(journal), judging, selection, {}, { findings: Number.POSITIVE_INFINITY })
  return Effect.map(judged, ({ checked, findings }) => ({ checked, failing: findings.map(failingOf) }))
}

/** A finding without old code: then the only difference is the state that the store has. */
export const failingOf = ({ id, verdict }: Finding): CheckReport["failing"][number] => {
  if (verdict._tag === "Held") return { id, sequence: verdict.sequence, problem: verdict.problem }
  const [state] = verdict.opens ?? []
  const problem = `it is stored in ${String(state?.before)} and replays to ${String(state?.after)}: a decision leads to another state than when its event was stored`
  return { id, sequence: verdict.sequence, problem }
}
