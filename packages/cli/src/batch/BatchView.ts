/** The status of a batch as the commands show it. Field names are those of the HTTP API. */
import type { BatchState } from "@detent/knowledge"
import { statusOf } from "@detent/workspace/operations/batches"
import { ExitCode } from "../line/ExitCode.mjs"
import { durationText, momentText } from "../output/Moment.ts"
import type { Step } from "../output/Progress.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { type Place, placeText } from "../workspace/Opening.ts"

/** Adds the path of the graph, for users of the same machine. */
export const batchView = (state: BatchState) => ({
  ...statusOf(state),
  ...("canonicalGraphUri" in state ? { graph: state.canonicalGraphUri } : {}),
})

export type BatchView = ReturnType<typeof batchView>

export const batchStep = (state: BatchState): Step => {
  const { stage, percent, documents, relations } = batchView(state)
  return { stage, percent, text: `${documents.completed + documents.failed}/${documents.total} documents, ${relations} facts` }
}

export const batchText = (state: BatchState, style: Style): string => {
  const view = batchView(state)
  const { documents } = view
  return pairsText(
    [
      ["batch", view.batchId],
      ["state", view.state, (text) => stateLooks(text, style)],
      ["progress", `${view.percent}%`],
      ["documents", `${documents.completed} done, ${documents.failed} failed, ${documents.total} in all`],
      ["graph", view.namespace],
      ["facts", "stats" in state ? `${state.stats.relationsExtracted} about ${state.stats.clustersResolved} entities` : view.relations],
      ["violations", "stats" in state ? state.stats.violations : undefined],
      ["quarantined", "stats" in state ? `${state.stats.quarantined} statements` : undefined],
      ["triples", "stats" in state ? state.stats.triplesIngested : undefined],
      ["took", "stats" in state ? durationText(state.stats.totalDurationMs) : undefined],
      ["started", momentText(view.createdAt)],
      ["file", "canonicalGraphUri" in state ? state.canonicalGraphUri : undefined],
      ["failed", view.failure === undefined ? undefined : `while ${view.failure.stage}: ${view.failure.message}`],
    ],
    style,
  )
}

export const stateLooks = (state: string, style: Style): string => {
  if (state === "Completed") return style.green(state)
  if (state === "Failed") return style.red(state)
  return state === "PartiallyCompleted" || state === "Cancelled" ? style.yellow(state) : style.cyan(state)
}

export const batchExitCode = ({ _tag }: BatchState): number => {
  if (_tag === "Completed") return ExitCode.ok
  return _tag === "PartiallyCompleted" ? ExitCode.inPart : ExitCode.failed
}

/** What can be done next, by how it ended. */
export const batchNextStep = (state: BatchState, place: Place): string | undefined => {
  const { _tag, batchId } = state
  const here = placeText(place)
  if (state._tag === "Completed" && state.stats.quarantined > 0)
    return `See what validation held back: detent batch show ${batchId} --quarantine${here}`
  if (_tag === "Completed") return `Ask it: detent graph query "SELECT * { ?s ?p ?o } LIMIT 5"${here}`
  if (_tag === "PartiallyCompleted")
    return `See what failed: detent batch show ${batchId} --documents failed${here}; then: detent batch retry ${batchId}${here}`
  if (_tag === "Failed") return `Correct the cause, then: detent batch retry ${batchId}${here}`
  return _tag === "Cancelled" ? `Go on with it: detent batch resume ${batchId}${here}` : undefined
}
