/** Decides on facts of a review list, through the server or in this process, and shows the list and the outcome. */
import { userInfo } from "node:os"
import { type BatchId, type ListPlace, type ReviewItem, ReviewOutcome, type ReviewSelection } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { WrongUsage } from "../Failure.ts"
import { momentText } from "../output/Moment.ts"
import { oneLine, type Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { changed } from "../workspace/Changing.ts"
import { notACursor } from "../workspace/Cursor.ts"
import type { RunningServer } from "../workspace/Server.ts"

/** The name of the user that runs this program. */
export const ownName = (): string => {
  try {
    return userInfo().username
  } catch {
    // The system has no name for the user.
    return `user ${process.getuid?.() ?? "unknown"}`
  }
}

/** The actions on facts of a review list. */
export type ReviewAction = "accept" | "reject" | "reopen"

interface DecideReview {
  readonly action: ReviewAction
  readonly id: BatchId
  readonly selection: ReviewSelection
  readonly by: string
  readonly key: string | undefined
}

const deciding = { accept: operations.accept, reject: operations.reject, reopen: operations.reopen }

export const decideReview = (server: RunningServer | undefined, { action, id, selection, by, key }: DecideReview) =>
  changed(
    server,
    {
      operation: `batches.${action}`,
      params: { batchId: id },
      path: `/api/v1/batch/${id}/review/${action}`,
      key,
      json: { ...selection, by },
      answer: ReviewOutcome,
    },
    deciding[action](id, selection, by),
  )

const PlaceJson = Schema.fromJsonString(Schema.Struct({ documentId: Schema.String, start: Schema.Int, factId: Schema.String }))

/** The cursor of a page as text for `--after`. */
export const reviewPlaceText = (place: ListPlace): string => Buffer.from(Schema.encodeSync(PlaceJson)(place)).toString("base64url")

export const reviewPlaceFrom = (text: string | undefined): Effect.Effect<{ readonly after?: ListPlace }, WrongUsage> =>
  text === undefined
    ? Effect.succeed({})
    : Schema.decodeEffect(PlaceJson)(Buffer.from(text, "base64url").toString("utf8")).pipe(
        Effect.map((after) => ({ after })),
        Effect.mapError(() => notACursor(text)),
      )

/** A fact in one line, with the words, the document and the reason below it. */
export const reviewText = (fact: ReviewItem, style: Style): string => {
  const { factId, subject, property, object, status, decidedBy, decidedAt, history = [] } = fact
  const isReversed = history.some(({ verdict }) => verdict === "reopened")
  const decision = decidedBy === undefined ? undefined : `${status} by ${decidedBy}, ${momentText(decidedAt ?? 0)}`
  const about = pairsText(
    [
      ["quote", `"${fact.quote}"`],
      ["document", `${fact.source} ${fact.start}-${fact.end}`],
      ["confidence", Number(fact.confidence.toFixed(4))],
      ["why", fact.why],
      ["refused", fact.refused],
      ["decision", decision],
      ...(isReversed ? history.map((one): readonly [string, string] => [one.verdict, `by ${one.by}, ${momentText(one.at)}`]) : []),
    ],
    style,
  )
  return `${style.cyan(factId)}  ${oneLine(`${subject} ${lastPartOf(property)} ${object}`)}\n${about.replaceAll(/^/gm, "  ").trimEnd()}\n`
}

const lastPartOf = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/"), iri.lastIndexOf(":")) + 1)

export const outcomeText = (action: ReviewAction, { batchId, namespace, decided, unchanged, refused, review }: ReviewOutcome): string => {
  const said: Readonly<Record<ReviewAction, string>> = {
    accept: `accepted, and in the graph ${namespace}`,
    reject: "rejected",
    reopen: "reopened: out of the graph, and open again",
  }
  const done = `${decided} ${said[action]}`
  const before = unchanged === 0 ? "" : `, ${unchanged} as before`
  const problems = refused.map(({ factId, problem }) => `${factId} stays as it is: ${problem}\n`).join("")
  return `${done}${before}\n${problems}${batchId}: ${review.open} open, ${review.accepted} accepted, ${review.rejected} rejected\n`
}
