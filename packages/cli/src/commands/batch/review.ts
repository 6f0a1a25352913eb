import type { BatchId } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { batchIdOf } from "../../batch/BatchSource.ts"
import {
  decideReview,
  outcomeText,
  ownName,
  type ReviewAction,
  reviewPlaceFrom,
  reviewPlaceText,
  reviewText,
} from "../../batch/Reviewing.ts"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { Output } from "../../output/Output.ts"
import { knowledge, type Place } from "../../workspace/Opening.ts"
import { type RunningServer, runningServerWith } from "../../workspace/Server.ts"
import { keyOption, paging, upTo } from "../shared.ts"
import { batch } from "./shared.ts"

const { acting, observing } = knowledge

export default command(
  {
    name: "batch review",
    summary: "list the facts whose confidence is too low for the graph; accept, reject or reopen them",
    detail:
      "An accepted fact enters the graph with the name of the reviewer, if the graph then conforms to its shapes. A rejected fact stays\n" +
      "out of the graph, also when the same version of its document is extracted again. In a changed document, a decision stays\n" +
      "where the same words still state the fact.\n" +
      "reopen reverses a decision: the fact leaves the graph and is open again. The list shows every decision with its reviewer and time.",
    arguments: [
      { name: "action", summary: "what to do", choices: ["list", "accept", "reject", "reopen"] },
      batch,
      { name: "fact", summary: "ids of facts, as `detent batch review list` shows them", optional: true, many: true },
    ],
    options: [
      { name: "all", kind: "flag", summary: "every open fact (to reopen: every decided fact) that matches --property and --below" },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      { name: "below", kind: "text", value: "NUMBER", summary: "only facts with a lower confidence than this, from 0 to 1" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["open", "accepted", "rejected", "all"],
        default: "open",
        summary: "for list: only facts with this status",
      },
      { name: "by", kind: "text", value: "NAME", summary: "name of the reviewer. Default: your user name" },
      keyOption,
      ...paging,
    ],
    examples: [
      { line: "detent batch review list batch-3f9c2a71b0d4", says: "each fact with its words, its document, and why it is on the list" },
      {
        line: "detent batch review accept batch-3f9c2a71b0d4 5595054b876075bd",
        says: "adds the fact to the graph, with you as its reviewer",
      },
      {
        line: "detent batch review reject batch-3f9c2a71b0d4 --all --property worksFor --below 0.4",
        says: "all facts of one property with a low confidence",
      },
      { line: "detent batch review reopen batch-3f9c2a71b0d4 5595054b876075bd", says: "reverses the decision on a fact" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const id = yield* batchIdOf(input.batch)
      const filter = yield* filterOf(input)
      if (input.action === "list") return yield* Effect.provide(listFacts(input, id, filter), observing(input))
      const selection = yield* selectionFrom(input, filter)
      const server = yield* runningServerWith(input, "knowledge")
      return yield* Effect.provide(
        decide(input, input.action, id, selection, server),
        server === undefined ? acting(input) : observing(input),
      )
    }),
)

interface ReviewInput extends Place {
  readonly fact: ReadonlyArray<string>
  readonly all: boolean
  readonly property: string | undefined
  readonly below: string | undefined
  readonly by: string | undefined
  readonly key: string | undefined
  readonly status: "open" | "accepted" | "rejected" | "all"
  readonly after: string | undefined
  readonly limit: number
}

const filterOf = ({ property, below }: ReviewInput) =>
  Effect.gen(function* () {
    const limit = below === undefined ? undefined : Number(below)
    if (limit !== undefined && (below?.trim() === "" || !(limit >= 0 && limit <= 1)))
      return yield* new WrongUsage({ problem: `--below ${below} is not a confidence`, nextStep: "it is a number from 0 to 1, like 0.4" })
    return { ...(property === undefined ? {} : { property }), ...(limit === undefined ? {} : { below: limit }) }
  })

const selectionFrom = ({ fact, all, property, below }: ReviewInput, filter: Effect.Success<ReturnType<typeof filterOf>>) =>
  Effect.gen(function* () {
    if (all && fact.length > 0)
      return yield* new WrongUsage({ problem: "--all and ids of facts exclude each other", nextStep: "name the facts, or use --all" })
    if (all) return { all: true as const, ...filter }
    if (fact.length === 0)
      return yield* new WrongUsage({ problem: "no fact is named", nextStep: "name ids of `detent batch review list`, or use --all" })
    if (property !== undefined || below !== undefined)
      return yield* new WrongUsage({ problem: "--property and --below need --all", nextStep: "remove them, or add --all" })
    return { facts: fact }
  })

const listFacts = (input: ReviewInput, id: BatchId, filter: Effect.Success<ReturnType<typeof filterOf>>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const after = yield* reviewPlaceFrom(input.after)
    const status = input.status === "all" ? {} : { status: input.status }
    const page = yield* upTo(input.limit, after.after, (most, from) =>
      Effect.map(operations.review(id, { ...filter, ...status, ...optional({ after: from }), limit: most }), ({ facts: items, next }) => ({
        items,
        next,
      })),
    )
    if (output.isJson) yield* output.rows(page.items, [], "")
    else if (page.items.length === 0)
      yield* output.note(`no fact of ${id} is ${input.status === "all" ? "on the review list" : input.status}`)
    for (const fact of output.isJson ? [] : page.items) yield* output.text(reviewText(fact, output.style))
    if (page.next !== undefined) yield* output.note(`more with --after ${reviewPlaceText(page.next)}`)
  })

const decide = (
  input: ReviewInput,
  action: ReviewAction,
  id: BatchId,
  selection: Effect.Success<ReturnType<typeof selectionFrom>>,
  server: RunningServer | undefined,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    if ("all" in selection) {
      const { open, accepted, rejected } = (yield* operations.status(id)).review
      const question = {
        accept: `Accept all open facts of ${id} that match the filter? ${open} facts are open.`,
        reject: `Reject all open facts of ${id} that match the filter? ${open} facts are open.`,
        reopen: `Reverse all decisions on facts of ${id} that match the filter? ${accepted} are accepted, ${rejected} rejected.`,
      }
      yield* agreed(question[action])
    }
    const outcome = yield* decideReview(server, { action, id, selection, by: input.by ?? ownName(), key: input.key })
    yield* output.value(outcome, () => outcomeText(action, outcome))
    return outcome.refused.length === 0 ? ExitCode.ok : ExitCode.inPart
  })
