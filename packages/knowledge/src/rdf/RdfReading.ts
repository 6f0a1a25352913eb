/** Reads Turtle and N-Triples piece by piece. */
import { Stream as Pushed } from "node:stream"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { describe } from "../storage/Describe.ts"
import type { BlankNode, Literal, NamedNode, Triple } from "./Term.ts"

export class RdfSyntaxError extends Schema.TaggedError<RdfSyntaxError>()("RdfSyntaxError", {
  source: Schema.String,
  /** Counted from 1; absent when the parser could not tell. */
  line: Schema.optionalKey(Schema.Finite),
  problem: Schema.String,
  /** Default: Turtle. */
  format: Schema.optionalKey(Schema.Literals(["Turtle", "N-Triples"])),
}) {
  override get message() {
    const where = this.line === undefined ? this.source : `${this.source}, line ${this.line}`
    return `${where}: no valid ${this.format ?? "Turtle"}: ${this.problem}; correct the file`
  }
}

/** The triples of a text. `source` is what errors call it. */
export const readTurtle = <E, R>(text: Stream.Stream<string, E, R>, source: string): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  read(text, source, "Turtle")

/** The triples of lines of N-Triples: nothing that only Turtle allows, such as prefixes, short forms and relative IRIs. */
export const readNTriples = <E, R>(text: Stream.Stream<string, E, R>, source: string): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  read(text, source, "N-Triples")

const read = <E, R>(
  text: Stream.Stream<string, E, R>,
  source: string,
  format: "Turtle" | "N-Triples",
): Stream.Stream<Triple, E | RdfSyntaxError, R> =>
  Stream.unwrap(
    Effect.map(n3, ({ Parser }) => {
      // The parser answers while it is pushed to: what it found in a piece is handed on before the next is taken.
      const input = new Pushed()
      let found: Array<Triple> = []
      let failure: RdfSyntaxError | undefined
      const fail = (problem: string, line?: number) => {
        failure ??= new RdfSyntaxError({ source, problem, format, ...(line === undefined ? {} : { line }) })
      }
      // Blank nodes keep the labels they have in the text, which otherwise are numbered on from one text to the next.
      new Parser({ format: format === "Turtle" ? "text/turtle" : "application/n-triples", blankNodePrefix: "_:" }).parse(
        input,
        (error, quad) => {
          if (error) fail(...problemOf(error))
          if (error || quad === null) return
          const triple = tripleOf(quad)
          if (triple === undefined) fail("it holds a statement about a statement")
          else found.push(triple)
        },
      )
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

/** The n3 library, loaded when RDF is first read: it takes 50 ms. */
const n3: Effect.Effect<typeof import("n3")> = Effect.promise(() => import("n3"))

const problemOf = (error: unknown): [problem: string, line?: number] => {
  const message = describe(error)
  const line = / on line (\d+)/.exec(message)
  const problem = message.replace(/ on line \d+\.?/, "").replace(/\.$/, "")
  return line === null ? [problem] : [problem, Number(line[1])]
}

/** A term of RDF/JS, as the parsers give it: it has more to it than ours. */
interface LibraryTerm {
  readonly termType: string
  readonly value: string
  readonly language?: string
  readonly datatype?: { readonly value: string }
}

export interface LibraryQuad {
  readonly subject: LibraryTerm
  readonly predicate: LibraryTerm
  readonly object: LibraryTerm
}

/** As plain data; undefined for what is no triple of RDF 1.1, such as a statement about a statement. */
export const tripleOf = (quad: LibraryQuad): Triple | undefined => {
  const subject = nodeOf(quad.subject)
  const predicate = nodeOf(quad.predicate)
  const object = nodeOf(quad.object) ?? literalOf(quad.object)
  if (subject === undefined || predicate?.termType !== "NamedNode" || object === undefined) return undefined
  return { subject, predicate, object }
}

const nodeOf = (term: LibraryTerm): NamedNode | BlankNode | undefined =>
  term.termType === "NamedNode" || term.termType === "BlankNode" ? { termType: term.termType, value: term.value } : undefined

const literalOf = (term: LibraryTerm): Literal | undefined =>
  term.termType === "Literal"
    ? {
        termType: "Literal",
        value: term.value,
        language: (term.language ?? "").toLowerCase(),
        datatype: { termType: "NamedNode", value: term.datatype?.value ?? "" },
      }
    : undefined
