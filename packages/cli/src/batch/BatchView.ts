/** The status of a batch in the output of commands. Field names are those of the HTTP API. */
import { type BatchEstimate, type BatchState, type BatchStats, type BatchUsage, localName, type ReviewCounts } from "@detent/knowledge"
import { statusOf } from "@detent/workspace/operations/batches"
import { ExitCode } from "../ExitCode.mjs"
import { counted } from "../output/Count.ts"
import { durationText, momentText } from "../output/Moment.ts"
import type { Step } from "../output/Progress.ts"
import { oneLine, type Style } from "../output/Style.ts"
import { type Pair, pairsText } from "../output/Table.ts"
import { type Place, placeText } from "../workspace/Opening.ts"

/** The status with the address of the graph, for users of the same machine. */
export const batchView = (state: BatchState) => ({
  ...statusOf(state),
  ...("canonicalGraphUri" in state ? { graph: state.canonicalGraphUri } : {}),
})

export type BatchView = ReturnType<typeof batchView>

export const batchStep = (state: BatchState): Step => {
  const { stage, percent, documents, relations, usage } = batchView(state)
  const spent = usage === undefined ? "" : `, ${usageText(usage)}`
  return {
    stage,
    percent,
    text: `${documents.completed + documents.failed + documents.setAside}/${counted(documents.total, "document")}, ${counted(relations, "fact")}${spent}`,
  }
}

/** `14,200 tokens, 0.0312 USD`. */
const usageText = ({ inputTokens, outputTokens, cost, currency }: BatchUsage): string =>
  `${(inputTokens + outputTokens).toLocaleString("en")} tokens, ${cost === undefined ? "price not known" : `${amountText(cost)} ${currency ?? ""}`.trimEnd()}`

/** Small amounts keep three significant digits. */
const amountText = (amount: number): string => (amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(3))))

export const estimateText = (estimate: BatchEstimate, style: Style): string =>
  pairsText(
    [
      ["extractor", estimate.extractor],
      ["documents", estimate.documents],
      ["unchanged", estimate.unchanged === 0 ? undefined : `${estimate.unchanged} documents, which are not extracted again`],
      ["unreadable", estimate.unreadable === 0 ? undefined : `${estimate.unreadable} documents, which would fail`],
      ["chunks", estimate.chunks],
      ["calls", estimate.calls],
      ["tokens", `about ${estimate.inputTokens.toLocaleString("en")} in, ${estimate.outputTokens.toLocaleString("en")} out`],
      [
        "cost",
        estimate.cost === undefined
          ? "price not known; add it to knowledge.prices"
          : `about ${amountText(estimate.cost)} ${estimate.currency ?? ""}`.trimEnd(),
      ],
    ],
    style,
  )

/** Data of a batch from the database and the graph, besides its state. */
export interface Standing {
  readonly review: ReviewCounts
  /** Triples of the batch that the graph has now. */
  readonly inGraph: number | undefined
  /** Whether its triples were withdrawn from the graph. */
  readonly isWithdrawn: boolean
  /** The current address of its graph: the data may have been copied since. */
  readonly graph: string | undefined
}

export const batchText = (state: BatchState, style: Style, place: Place, standing?: Standing): string => {
  const view = batchView(state)
  const { documents } = view
  const unchanged = documents.unchanged === 0 ? "" : ` (${documents.unchanged} unchanged)`
  const stats = "stats" in state ? state.stats : undefined
  const withdrawn = stats?.documentsWithdrawn ?? 0
  return pairsText(
    [
      ["batch", view.batchId],
      ["state", view.state, (text) => stateLooks(text, style)],
      ["progress", `${view.percent}%`],
      ["documents", `${documents.completed} done${unchanged}, ${documents.failed} failed, ${documents.total} in all`],
      ["set aside", documents.setAside === 0 ? undefined : `${counted(documents.setAside, "document")} that exceeded a limit twice`],
      ["languages", languagesText(view.languages)],
      ...view.languages.flatMap(unreadPairs),
      ["not read", view.misfits === undefined ? undefined : misfitsText(view.misfits)],
      ["not read", view.notRead === undefined ? undefined : notReadText(view.notRead)],
      ["skipped", view.skipped === undefined ? undefined : skippedText(view.skipped)],
      ["refused", view.refused === undefined ? undefined : refusedText(view.refused)],
      ["withdrawn", withdrawn === 0 ? undefined : `${counted(withdrawn, "document")} no longer in the folder or manifest`],
      ["graph", `${view.namespace}${standing?.isWithdrawn === true ? "; the facts of this batch were withdrawn from it" : ""}`],
      ["extractor", view.extractor === "built-in" ? undefined : view.extractor],
      ["spent", view.usage === undefined ? undefined : `${usageText(view.usage)}, in ${view.usage.calls} calls`],
      ["budget", view.budget],
      ...(stats !== undefined && changedNothing(view, stats) ? unchangedPairs : [factsPair(view, stats)]),
      [
        "for review",
        view.forReview === 0 ? undefined : `${counted(view.forReview, "fact")} too unsure for the graph${countsText(standing?.review)}`,
      ],
      [
        "review them",
        view.forReview === 0 || stats === undefined ? undefined : `detent batch review list ${view.batchId}${placeText(place)}`,
      ],
      ...(stats === undefined || changedNothing(view, stats)
        ? []
        : outcomePairs(stats, standing?.inGraph, violationsCommand(state, place))),
      ["took", stats === undefined ? undefined : durationText(stats.totalDurationMs)],
      ["started", momentText(view.createdAt)],
      ["file", standing?.graph ?? view.graph],
      ["failed", view.failure === undefined ? undefined : `while ${view.failure.stage}: ${view.failure.message}`],
      ["violations", failedInValidation(state) ? `list them: ${violationsCommand(state, place)}` : undefined],
    ],
    style,
  )
}

type Languages = BatchView["languages"]

/** Undefined where all documents are in English or in no detected language. */
const languagesText = (languages: Languages): string | undefined =>
  languages.every(({ language }) => language === "en" || language === "und")
    ? undefined
    : languages
        .map(({ language, name, documents }) => `${documents} in ${language === "und" ? "a language that could not be detected" : name}`)
        .join(", ")

/** Explains why documents in a language gave few or no facts. */
const unreadPairs = ({ name, unread, nextStep }: Languages[number]): ReadonlyArray<readonly [string, string]> =>
  unread === undefined || nextStep === undefined ? [] : [["not read", `prose of ${counted(unread, "document")} in ${name}: ${nextStep}`]]

/** `3 values of the wrong datatype, or rows without a name: population "unknown" (cities.csv), ...`. */
const misfitsText = ({ count, examples }: NonNullable<BatchView["misfits"]>): string => {
  const fit = count === 1 ? "value of the wrong datatype, or row without a name" : "values of the wrong datatype, or rows without a name"
  const shown = examples.map(({ source, property, text }) => `${localName(property)} "${text}" (${source.split("/").at(-1)})`)
  return `${count} ${fit}: ${shown.join(", ")}${count > examples.length ? ", ..." : ""}`
}

/** `490 cells of columns without a rule or property: CIK (470, such as "66740" in cities.csv), ...`. */
export const notReadText = ({ count, columns }: NonNullable<BatchView["notRead"]>): string => {
  const shown = columns
    .slice(0, shownColumns)
    .map(
      ({ column, count: cells, source, text }) =>
        `${column} (${cells}, such as "${oneLine(text).slice(0, 40)}" in ${source.split("/").at(-1)})`,
    )
  const more = columns.length > shownColumns ? `, and ${columns.length - shownColumns} more columns` : ""
  return `${counted(count, "cell")} that gave no fact: ${shown.join(", ")}${more}; see \`detent batch map\``
}

const shownColumns = 5

/** `2 chunks without an answer of the model: "The harbour" (log.txt): the model refused, ...`. */
const skippedText = ({ count, examples }: NonNullable<BatchView["skipped"]>): string => {
  const shown = examples.map(({ source, text, problem }) => `"${oneLine(text).slice(0, 40)}" (${source.split("/").at(-1)}): ${problem}`)
  return `${counted(count, "chunk")} without an answer of the model: ${shown.join(", ")}${count > examples.length ? ", ..." : ""}`
}

/** `2 answers of the model are not in the graph: passed "A passed B" (a.txt): the text does not have these words`. */
const refusedText = ({ count, examples }: NonNullable<BatchView["refused"]>): string => {
  const shown = examples.map(({ source, text, problem }) => `${oneLine(text).slice(0, 80)} (${source.split("/").at(-1)}): ${problem}`)
  const what = count === 1 ? "1 answer of the model is" : `${count} answers of the model are`
  return `${what} not in the graph: ${shown.join(", ")}${count > examples.length ? ", ..." : ""}`
}

/** `: 3 open, 1 accepted, 0 rejected`. */
const countsText = (review: ReviewCounts | undefined): string =>
  review === undefined ? "" : `: ${review.open} open, ${review.accepted} accepted, ${review.rejected} rejected`

/** Whether all documents are unchanged and none is gone: the batch extracted nothing, and the graph keeps its version. */
const changedNothing = ({ documents }: BatchView, { documentsWithdrawn = 0, triplesIngested }: BatchStats): boolean =>
  documents.total > 0 && documents.unchanged === documents.total && documentsWithdrawn + triplesIngested === 0

/** Counts of zero would read as an empty graph. */
const unchangedPairs: ReadonlyArray<Pair> = [["changes", "none: no document changed, and the graph is as before"]]

/** The facts of the documents that the batch extracted. Those of unchanged documents are in the graph, but not in this count. */
const factsPair = ({ documents, relations }: BatchView, stats: BatchStats | undefined): Pair => {
  if (stats === undefined) return ["facts", relations]
  const ofChanged = documents.unchanged === 0 ? "" : ", from the documents that changed"
  return ["facts", `${stats.relationsExtracted} about ${counted(stats.clustersResolved, "entity", "entities")}${ofChanged}`]
}

const outcomePairs = (stats: BatchStats, inGraph: number | undefined, command: string): ReadonlyArray<Pair> => [
  ["violations", stats.violations === 0 ? 0 : `${stats.violations}; list them: ${command}`],
  ["quarantined", counted(stats.quarantined, "statement")],
  ["triples", triplesText(stats, inGraph)],
]

/**
 * `46 from this batch; 286 in the graph when it ended`. Batches may state the same triple, so their counts can exceed the graph's. Adds
 * how many of the batch the graph has now, where that differs.
 */
const triplesText = ({ triplesIngested, triplesTotal }: BatchStats, inGraph: number | undefined): string => {
  const graph = triplesTotal === undefined ? "" : `; ${triplesTotal} in the graph when it ended`
  const now = inGraph === undefined || inGraph === triplesIngested ? "" : `; ${inGraph} from this batch now`
  return `${triplesIngested} from this batch${graph}${now}`
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

const failedInValidation = (state: BatchState): boolean => state._tag === "Failed" && state.error.code === "ValidationFailed"

const hasViolations = (state: BatchState): boolean => failedInValidation(state) || ("stats" in state && state.stats.violations > 0)

const violationsCommand = ({ batchId }: BatchState, place: Place): string => `detent batch show ${batchId} --quarantine${placeText(place)}`

/** The next step after the end of a batch. */
export const batchNextStep = (state: BatchState, place: Place): string | undefined => {
  const { _tag, batchId } = state
  const here = placeText(place)
  if (_tag === "Failed" && state.error.code === "BudgetExhausted")
    return `Raise the budget and continue: detent batch resume ${batchId} --budget AMOUNT${here}`
  if (state._tag === "Completed" && state.stats.quarantined > 0)
    return `See what validation quarantined: ${violationsCommand(state, place)}`
  if (_tag === "Completed" && hasViolations(state)) return `See what violates the shapes: ${violationsCommand(state, place)}`
  // A retry validates the stored extraction against the stored shapes, and fails in the same way.
  if (failedInValidation(state))
    return `See what violates the shapes: ${violationsCommand(state, place)}; correct the documents or the shapes, then start the same \`detent batch run\` again`
  if (_tag === "Completed") {
    const graph = `--namespace ${state.targetNamespace}${here}`
    return `See the facts: detent graph relations ${graph}; the entities: detent graph entities ${graph}`
  }
  const setAside = "documentsSetAside" in state ? state.documentsSetAside : 0
  if (setAside > 0 && "documentsFailed" in state && state.documentsFailed === 0)
    return `See why documents were set aside, and how to try again: detent batch show ${batchId} --documents set-aside${here}`
  if (_tag === "PartiallyCompleted")
    return `See what failed: detent batch show ${batchId} --documents failed${here}; then: detent batch retry ${batchId}${here}`
  if (_tag === "Failed") return `Correct the cause, then: detent batch retry ${batchId}${here}`
  return _tag === "Cancelled" ? `Continue it: detent batch resume ${batchId}${here}` : undefined
}
