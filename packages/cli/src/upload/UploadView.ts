/** The status of an upload in the output of commands. Field names are those of the HTTP API. */
import type { UploadStatus } from "@detent/workspace/operations/uploads"
import { ExitCode } from "../line/ExitCode.mjs"
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
      ["kind", view.kind === "HackerNews" ? undefined : view.kind],
      ["file", view.fileName],
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

export const stateLooks = (text: string, state: string, style: Style): string => {
  if (state === "completed") return style.green(text)
  if (state === "failed") return style.red(text)
  return state === "partially_completed" ? style.yellow(text) : style.cyan(text)
}

export const uploadExitCode = ({ state }: UploadStatus): number => {
  if (state === "completed") return ExitCode.ok
  return state === "partially_completed" ? ExitCode.inPart : ExitCode.failed
}

export const uploadNextStep = ({ state, batchId, errors, canRetry, failure }: UploadStatus, place: Place): string | undefined => {
  const here = placeText(place)
  if (state === "partially_completed") {
    const see = `See what was refused: detent upload show ${batchId} --items failed${here}`
    const retry = `then: detent upload retry ${batchId}${here}`
    // A retry of invalid content fails again. Only a check of the configuration may decide differently on a retry.
    const canHelp = errors.some(({ reason }) => reason === "rejected")
    return canHelp ? `${see}; ${retry}` : `${see}; correct an item with: detent upload correct ${batchId} ITEM --with JSON${here}; ${retry}`
  }
  if (state !== "failed") return undefined
  if (!canRetry) return `It can no longer be retried; upload its file again with: detent upload run FILE --force${here}`
  return `${failure?.cancelled === true ? "Resume it with" : "Correct the cause, then"}: detent upload retry ${batchId}${here}`
}
