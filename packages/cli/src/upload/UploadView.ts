/** The status of an upload in the output of commands. Field names are those of the HTTP API. */

import type { MappingSource } from "@detent/uploads"
import type { items, UploadStatus } from "@detent/workspace/operations/uploads"
import type * as Effect from "effect/Effect"
import { ExitCode } from "../ExitCode.mjs"
import type { Step } from "../output/Progress.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { type Place, placeText } from "../workspace/Opening.ts"

/** The stage to show while the processors of a transition run. */
const doing: Readonly<Record<string, string>> = {
  auto_upload: "uploading",
  validate_file: "validating",
  start_extraction: "storing",
  start_processing: "checking",
  retry_failed_items: "retrying",
  retry_batch: "retrying",
}

export const uploadStep = ({ state, step, items: { total, stored, failed } }: UploadStatus): Step => ({
  stage: (step === undefined ? undefined : doing[step]) ?? state,
  percent: total === 0 ? 0 : Math.min(100, Math.floor(((stored + failed) / total) * 100)),
  text: `${stored} stored, ${failed} refused, ${total} in all`,
})

export const uploadText = (view: UploadStatus, style: Style): string =>
  pairsText(
    [
      ["upload", view.batchId],
      ["kind", view.kind === "Items" ? undefined : view.kind],
      ["file", view.fileName],
      ["format", view.format],
      ["mapping", view.mappingSource === undefined ? undefined : mappingTexts[view.mappingSource]],
      ["state", view.state, (text) => stateLooks(text, view.state, style)],
      ["items", `${view.items.stored} stored, ${view.items.failed} refused, ${view.items.waiting} waiting, ${view.items.total} in all`],
      ["rate", view.itemsPerSecond === undefined ? undefined : `${view.itemsPerSecond} items/s`],
      [view.failure?.cancelled === true ? "cancelled" : "problem", view.problem],
      ["cause", view.failure?.cause],
      ["notification", view.notificationError],
      ...view.errors.map(
        ({ reason, count, example }) => ["refused", `${count} ${reason}${example === undefined ? "" : `, such as ${example}`}`] as const,
      ),
    ],
    style,
  )

const mappingTexts: Readonly<Record<MappingSource, string>> = {
  given: "given with the file",
  kept: "kept for the kind",
  definition: "of the definition",
}

export const stateLooks = (text: string, state: string, style: Style): string => {
  if (state === "completed") return style.green(text)
  if (state === "failed") return style.red(text)
  return state === "partially_completed" ? style.yellow(text) : style.cyan(text)
}

export const uploadExitCode = ({ state }: UploadStatus): number => {
  if (state === "completed") return ExitCode.ok
  return state === "partially_completed" ? ExitCode.inPart : ExitCode.failed
}

/** How to correct refused items: a retry of unchanged content fails again, unless a check of the configuration decides differently. */
const correctionSteps = (batchId: string, here: string): string =>
  [
    `See what was refused: detent upload show ${batchId} --items failed${here}`,
    `show one item:        detent upload show ${batchId} --item ITEM${here}`,
    `correct it:           detent upload correct ${batchId} ITEM --with '{…}'${here}`,
    `or all as a file:     detent upload failures ${batchId} > bad.csv${here}`,
    `corrected:            detent upload correct ${batchId} --from bad.csv${here}`,
    `then retry:           detent upload retry ${batchId}${here}`,
  ].join("\n")

export const uploadNextStep = ({ state, batchId, canRetry, failure }: UploadStatus, place: Place): string | undefined => {
  const here = placeText(place)
  if (state === "partially_completed") return correctionSteps(batchId, here)
  if (state !== "failed") return undefined
  if (!canRetry) return `It can no longer be retried; upload its file again with: detent upload run FILE --force${here}`
  return `${failure?.cancelled === true ? "Resume it with" : "Correct the cause, then"}: detent upload retry ${batchId}${here}`
}

type Item = Effect.Success<ReturnType<typeof items>>["items"][number]

/** Why an item is not stored; for a corrected item, what it waits for. */
export const itemProblem = ({ problem, correctedAt }: Pick<Item, "problem" | "correctedAt">): string =>
  correctedAt === undefined ? (problem?.message ?? "") : "corrected, waits for a retry"
