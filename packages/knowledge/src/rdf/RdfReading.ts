/** Reads Turtle, and N-Triples as a part of it, piece by piece. */
import { Stream as Pushed } from "node:stream"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { describe } from "../storage/Describe.ts"
import { keepLabels, n3, tripleOf } from "./N3Library.ts"
import type { Triple } from "./Term.ts"

export class RdfSyntaxError extends Schema.TaggedError<RdfSyntaxError>()("RdfSyntaxError", {
  source: Schema.String,
  /** Counted from 1; absent when the parser could not tell. */
  line: Schema.optionalKey(Schema.Finite),
  problem: Schema.String,
}) {
  override get message() {
    const where = this.line === undefined ? this.source : `${this.source}, line ${this.line}`
    return `${where}: no valid Turtle: ${this.problem}; correct the file`
  }
}

/** The triples of a text. `source` is what errors call it. */
export const readTurtle = <E, R>(text: Stream.Stream<string, E, R>, source: string): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  Stream.unwrap(
    Effect.map(n3, ({ Parser }) => {
      // The parser answers while it is pushed to: what it found in a piece is handed on before the next is taken.
      const input = new Pushed()
      let found: Array<Triple> = []
      let failure: RdfSyntaxError | undefined
      new Parser({ format: "text/turtle", ...keepLabels }).parse(input, (error, quad) => {
        if (error) failure ??= syntaxError(source, error)
        if (error || quad === null) return
        const triple = tripleOf(quad)
        if (triple === undefined) failure ??= new RdfSyntaxError({ source, problem: "it holds a statement about a statement" })
        else found.push(triple)
      })
      const answerTo = (push: () => void) =>
        Effect.suspend(() => {
          push()
          const triples = found
          found = []
          return failure === undefined ? Effect.succeed(triples) : Effect.fail(failure)
        })
      return Stream.concat(
        Stream.mapEffect(text, (piece) => answerTo(() => input.emit("data", piece))),
        Stream.fromEffect(answerTo(() => input.emit("end"))),
      ).pipe(Stream.flattenIterable)
    }),
  )

const syntaxError = (source: string, error: unknown): RdfSyntaxError => {
  const message = describe(error)
  const line = / on line (\d+)/.exec(message)
  const problem = message.replace(/ on line \d+\.?/, "").replace(/\.$/, "")
  return new RdfSyntaxError({ source, problem, ...(line === null ? {} : { line: Number(line[1]) }) })
}
