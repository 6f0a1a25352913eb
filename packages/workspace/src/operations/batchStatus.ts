/** The status of a batch on every surface. Loads no code that processes documents, so that API definitions can import it. */
import {
  type BatchConfig,
  type BatchState,
  isTerminal,
  type LanguageCount,
  languageName,
  progressPercent,
  stageDisplayName,
  unreadNextStep,
} from "@detent/knowledge/schemas"
import { optional } from "../optional.ts"

/** `5usd`, `200000tokens`, or both where the configuration sets both. */
const budgetText = (budget: BatchConfig["budget"]): string | undefined => {
  if (budget === undefined || typeof budget === "string") return budget
  const parts = [
    ...(budget.cost === undefined ? [] : [String(budget.cost)]),
    ...(budget.tokens === undefined ? [] : [`${budget.tokens}tokens`]),
  ]
  return parts.length === 0 ? undefined : parts.join(" ")
}

const languageOf = (count: LanguageCount) => ({
  ...count,
  name: languageName(count.language),
  ...(count.reason === undefined ? {} : { nextStep: unreadNextStep(count.language, count.reason) }),
})

/** The extraction rate, and the estimated end at that rate. Only for a first attempt: a retry starts with documents already done. */
const paceOf = (state: BatchState) => {
  if (state._tag !== "Extracting" || state.attempt > 0) return {}
  const { createdAt, updatedAt, documentsTotal, documentsCompleted, documentsFailed } = state
  const done = documentsCompleted + documentsFailed - state.documentsUnchanged
  const seconds = (updatedAt - createdAt) / 1000
  if (done <= 0 || seconds <= 0) return {}
  const ratePerSecond = done / seconds
  const remaining = Math.max(0, documentsTotal - documentsCompleted - documentsFailed - state.documentsSetAside)
  return { ratePerSecond, estimatedCompletionAt: Math.round(updatedAt + (remaining / ratePerSecond) * 1000) }
}

/** The status of a batch, with the field names of the API and of the command line. */
export const statusOf = (state: BatchState) => ({
  batchId: state.batchId,
  state: state._tag,
  stage: stageDisplayName(state),
  percent: progressPercent(state),
  isTerminal: isTerminal(state),
  namespace: state.targetNamespace,
  ontologyVersion: state.ontologyVersion,
  documents: {
    total: state.documentsTotal,
    completed: "documentsCompleted" in state ? state.documentsCompleted : 0,
    failed: "documentsFailed" in state ? state.documentsFailed : 0,
    setAside: "documentsSetAside" in state ? state.documentsSetAside : 0,
    unchanged: "documentsUnchanged" in state ? state.documentsUnchanged : 0,
    ...optional({ current: "currentDocumentId" in state ? state.currentDocumentId : undefined }),
  },
  extractor: state.config.extractor ?? "built-in",
  ...optional({ budget: budgetText(state.config.budget), usage: "usage" in state ? state.usage : undefined }),
  ...paceOf(state),
  entities: "entityCount" in state ? state.entityCount : 0,
  relations: "relationCount" in state ? state.relationCount : 0,
  forReview: "reviewCount" in state ? state.reviewCount : 0,
  ...optional({
    misfits: "misfits" in state ? state.misfits : undefined,
    skipped: "skipped" in state ? state.skipped : undefined,
    refused: "refused" in state ? state.refused : undefined,
    notRead: "notRead" in state ? state.notRead : undefined,
  }),
  languages: "languages" in state ? (state.languages ?? []).map(languageOf) : [],
  retryCount: state.retryCount,
  createdAt: state.createdAt,
  updatedAt: state.updatedAt,
  ...(state._tag === "Failed"
    ? { failure: { stage: state.failedInStage, ...state.error, ...optional({ lastSuccessfulStage: state.lastSuccessfulStage }) } }
    : {}),
  ...("stats" in state ? { outcome: state.stats } : {}),
})

export type BatchStatus = ReturnType<typeof statusOf>
