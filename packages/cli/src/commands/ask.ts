import { localName } from "@detent/knowledge"
import { ask } from "@detent/workspace/operations/ask"
import * as Effect from "effect/Effect"
import { selectionOf } from "../batch/BatchStarting.ts"
import { chooseVersion } from "../graph/chooseGraph.ts"
import { command } from "../line/Command.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { changedHere } from "../workspace/Changing.ts"
import { knowledge } from "../workspace/Opening.ts"
import { objectText, versionOption } from "./graph/shared.ts"
import { keyOption } from "./shared.ts"

const { observing } = knowledge

type Answer = Effect.Success<ReturnType<typeof ask>>

export default command(
  {
    name: "ask",
    summary: "ask a graph a question, and see the words that prove the answer",
    detail:
      "Lists the facts that bear on the question, each with its words and its document.\n" +
      "With a model, from knowledge.extractor or --extractor, the answer is sentences. Each names the words that prove it; what is not\n" +
      "proved is left out.",
    arguments: [
      { name: "namespace", summary: "the graph, as `detent graph stats` names it" },
      { name: "question", summary: "the question, in quotes" },
    ],
    options: [
      versionOption,
      { name: "facts", kind: "flag", summary: "only list the facts: no model is called" },
      { name: "limit", kind: "integer", value: "N", default: 10, minimum: 1, summary: "the most facts" },
      {
        name: "extractor",
        kind: "text",
        value: "NAME",
        summary: "the model that answers, such as openai:gpt-5-mini. Default: knowledge.extractor",
      },
      { name: "base-url", kind: "text", value: "URL", summary: "a server with the provider's API" },
      { name: "budget", kind: "text", value: "AMOUNT", summary: "do not ask if the answer may cost more than this, such as 0.1usd" },
      keyOption,
    ],
    examples: [
      { line: 'detent ask people "Who founded Halcyon Instruments?"', says: "the facts that bear on it, with their words" },
      {
        line: 'detent ask people "Who founded Halcyon Instruments?" --extractor openai:gpt-5-mini',
        says: "proved sentences before the facts",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { question, limit, key } = input
      const model = input.facts ? false : yield* selectionOf(input)
      const version = yield* chooseVersion(input)
      const params = { namespace: version.namespace }
      const asked = { operation: "knowledge.ask", params, json: { question, limit }, key }
      const answer = yield* changedHere(asked, ask(version, question, { limit, model }))
      yield* output.value(answer, () => answerText(answer, output.style))
    }).pipe(Effect.provide(observing(input))),
)

const answerText = ({ said, facts }: Answer, style: Style): string => {
  if (facts.length === 0) return "no fact of the graph bears on this question\n"
  const clauses = (said?.clauses ?? []).map(
    ({ text, quote, source, documentId }) => `${text}\n${style.dim(`  "${oneLine(quote)}" ${source ?? documentId}`)}\n`,
  )
  const unproved = said === undefined || said.unproved === 0 ? "" : `${said.unproved} more of ${said.model} left out: nothing proves it\n`
  const nothing = said !== undefined && clauses.length === 0 ? "the facts below do not answer it\n" : ""
  const listed = facts.map((fact) => {
    const { subjectLabel, subject, property, quote, source, documentId } = fact
    return `${subjectLabel ?? subject} ${localName(property)} ${objectText(fact)}\n${style.dim(`  "${oneLine(quote)}" ${source ?? documentId}`)}\n`
  })
  return [...clauses, nothing, unproved, said === undefined ? "" : "\nfacts:\n", ...listed].join("")
}

const oneLine = (text: string): string => text.replace(/\s+/gu, " ").trim()
