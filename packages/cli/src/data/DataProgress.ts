/** Shared by copy, backup and restore: shows their progress, and checks whether the instances of the result open. */
import type { DataProgress } from "@detent/workspace/operations/data"
import * as oracle from "@detent/workspace/operations/oracle"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Output } from "../output/Output.ts"
import { followed, type Step } from "../output/Progress.ts"
import { observed, type Place } from "../workspace/Opening.ts"

/** Runs an operation and shows its progress. */
export const withProgress = <A, E>(run: (onProgress: (progress: DataProgress) => Effect.Effect<void>) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    let report: { readonly value: A } | undefined
    const progress = Stream.callback<DataProgress, E>((queue) =>
      Effect.gen(function* () {
        report = { value: yield* run((one) => Effect.asVoid(Queue.offer(queue, one))) }
      }).pipe(Queue.into(queue)),
    )
    yield* followed(progress, { step: stepOf, json: (one) => one })
    return report === undefined ? yield* Effect.die(new Error("the operation ended without a report")) : report.value
  })

const doing = { files: "copying", copy: "copying", index: "indexing", check: "checking" } as const

const stepOf = ({ stage, part, rows, total }: DataProgress): Step => ({
  stage: doing[stage],
  percent: total === 0 ? 100 : Math.floor((rows / total) * 100),
  text: stage === "index" ? part : `${rows} of ${total} ${stage === "files" ? "files" : "rows"}, ${part}`,
})

/** Opens every instance that has not ended, as a working process would. */
export const openedInstances = (place: Place) =>
  Effect.gen(function* () {
    const checks = yield* Effect.provide(oracle.check({ findings: oracle.mostFindings }), observed(place))
    return {
      checked: checks.reduce((sum, one) => sum + one.checked, 0),
      failing: checks.flatMap(({ machine, findings }) => findings.map((one) => ({ machine, ...oracle.failingOf(one) }))),
      unchecked: checks.filter((one) => one.unchecked > 0),
    }
  })

export type OpenedInstances = Effect.Success<ReturnType<typeof openedInstances>>

export const noteOpened = ({ checked, failing, unchecked }: OpenedInstances) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* output.note(`instances that have not ended: ${checked} opened, ${failing.length} do not open`)
    for (const { machine, id, problem } of failing) yield* output.note(`${machine}/${id} does not open: ${problem}`)
    for (const { machine, unchecked: count } of unchecked)
      yield* output.note(`${count} of ${machine} were not opened: the machine is not in detent.config.ts`)
  })
