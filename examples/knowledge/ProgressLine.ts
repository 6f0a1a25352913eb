/** The progress of a batch in one line. */
import { type BatchState, progressPercent, stageDisplayName } from "@detent/knowledge"
import type { Style } from "../orders/Style.ts"

const width = 30

export const progressLine = (state: BatchState, style: Style, columns: number): string => {
  const percent = progressPercent(state)
  const filled = Math.round((percent / 100) * width)
  const bar = `${style.green("█".repeat(filled))}${style.dim("░".repeat(width - filled))}`
  const done = "documentsCompleted" in state ? state.documentsCompleted + state.documentsFailed : 0
  const counts = `${done}/${state.documentsTotal} documents`
  const facts = "relationCount" in state ? `, ${state.relationCount} facts` : ""
  const text = `${stageDisplayName(state).padEnd(12)} ${String(percent).padStart(3)}%  ${counts}${facts}`
  return `${bar} ${text.slice(0, Math.max(0, columns - width - 2))}`
}
