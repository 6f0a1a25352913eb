/** Questions to a graph, and answers with the words that prove them. */
import { type AnswerError, type AnswerOptions, Answers, type GraphAnswer, type GraphQueryService } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import { optional } from "../optional.ts"
import { provenanceOf } from "./graph.ts"

type GraphVersion = Parameters<GraphQueryService["query"]>[0]

const answerOf = (question: string, { facts, said }: GraphAnswer) => ({
  question,
  facts: facts.map((fact) => ({
    subject: fact.subject.iri,
    ...optional({ subjectLabel: fact.subject.label }),
    ...provenanceOf(fact, undefined),
  })),
  ...optional({ said: said === undefined ? undefined : saidOf(said) }),
})

const saidOf = ({ model, clauses, unproved, usage, currency }: NonNullable<GraphAnswer["said"]>) => {
  const { calls, inputTokens, outputTokens, cost } = usage
  return { model, clauses, unproved, usage: { calls, inputTokens, outputTokens, ...optional({ cost }), currency } }
}

/** The facts that bear on a question, and what a model says of them as far as it is proved. */
export const ask = (
  version: GraphVersion,
  question: string,
  options: AnswerOptions = {},
): Effect.Effect<ReturnType<typeof answerOf>, AnswerError, Answers> =>
  Effect.map(
    Effect.flatMap(Answers, (answers) => answers.ask(version, question, options)),
    (answer) => answerOf(question, answer),
  )
