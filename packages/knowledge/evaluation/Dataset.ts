/**
 * What is evaluated on: ontologies with texts whose facts are known. A folder holds either one subfolder for each ontology
 * (`ontology.ttl`, `test.jsonl`, `train.jsonl`) or documents of one ontology (`ontology.ttl`, `documents/`,
 * `expected.jsonl`, `examples.jsonl`).
 */

import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { readDocument } from "../src/document/DocumentReader.ts"
import { Example, ExampleTriple } from "../src/extract/builtin/Example.ts"
import type { OntologyIndex } from "../src/ontology/OntologyIndex.ts"
import { loadOntology } from "../src/ontology/OntologyLoading.ts"
import type { Triple } from "./Score.ts"

/** A text and the facts it states. */
export interface Case {
  readonly name: string
  readonly text: string
  readonly expected: ReadonlyArray<Triple>
}

export interface Dataset {
  readonly name: string
  readonly ontology: OntologyIndex
  /** What an extractor may learn from; none of the cases is among them. */
  readonly examples: ReadonlyArray<Example>
  readonly cases: ReadonlyArray<Case>
}

/** The ontologies of a folder, by name. */
export const loadSentences = Effect.fnUntraced(function* (folder: string): Effect.fn.Return<ReadonlyArray<Dataset>, DatasetError> {
  const names = yield* list(folder)
  const inside = yield* Effect.forEach(names, (name) => Effect.map(orUndefined(list(join(folder, name))), (files) => ({ name, files })))
  const found = inside.filter(({ files }) => files?.includes("test.jsonl"))
  if (found.length === 0) {
    return yield* new DatasetError({
      path: folder,
      problem: "no ontology in it",
      nextStep: "give a folder whose subfolders each hold ontology.ttl, test.jsonl and, to learn from, train.jsonl",
    })
  }
  return yield* Effect.forEach(found, ({ name, files }) => loadOne(join(folder, name), name, files ?? []))
})

const loadOne = Effect.fnUntraced(function* (
  folder: string,
  name: string,
  files: ReadonlyArray<string>,
): Effect.fn.Return<Dataset, DatasetError> {
  const ontology = yield* loadOntologyIn(folder, files)
  const tests = yield* readLines(join(folder, "test.jsonl"), Example)
  const examples = files.includes("train.jsonl") ? yield* readLines(join(folder, "train.jsonl"), Example) : []
  const cases = tests.map(({ id, sent, triples }, at) => ({ name: id ?? String(at + 1), text: sent, expected: triples }))
  return { name, ontology, examples, cases }
})

const Expected = Schema.Struct({ document: Schema.String, ...ExampleTriple.fields })

/** Documents of one ontology. */
export const loadDocuments = Effect.fnUntraced(function* (folder: string, name: string): Effect.fn.Return<Dataset, DatasetError> {
  const files = yield* list(folder)
  const ontology = yield* loadOntologyIn(folder, files)
  const expected = yield* readLines(join(folder, "expected.jsonl"), Expected)
  const examples = files.includes("examples.jsonl") ? yield* readLines(join(folder, "examples.jsonl"), Example) : []
  const documents = yield* list(join(folder, "documents"))
  const unknown = expected.find(({ document }) => !documents.includes(document))
  if (unknown !== undefined) {
    return yield* new DatasetError({
      path: join(folder, "expected.jsonl"),
      problem: `it expects facts of ${unknown.document}, which is not in documents`,
      nextStep: "correct the name",
    })
  }
  const cases = yield* Effect.forEach(documents, (document) =>
    Effect.map(readText(join(folder, "documents", document)), (text) => ({
      name: document,
      text,
      expected: expected.filter((triple) => triple.document === document),
    })),
  )
  return { name, ontology, examples, cases }
})

const ontologyFiles = ["ontology.ttl", "ontology.owl", "ontology.rdf", "ontology.jsonld"]

const loadOntologyIn = Effect.fnUntraced(function* (
  folder: string,
  files: ReadonlyArray<string>,
): Effect.fn.Return<OntologyIndex, DatasetError> {
  const file = ontologyFiles.find((name) => files.includes(name))
  if (file === undefined) {
    return yield* new DatasetError({ path: folder, problem: "it has no ontology", nextStep: `add one of ${ontologyFiles.join(", ")}` })
  }
  const path = join(folder, file)
  const bytes = yield* read(path)
  return yield* loadOntology({ name: path, text: new TextDecoder().decode(bytes) }).pipe(
    Effect.mapError((error) => new DatasetError({ path, problem: error.message, nextStep: "correct it", cause: error })),
  )
})

const readText = (path: string): Effect.Effect<string, DatasetError> =>
  read(path).pipe(
    Effect.flatMap((bytes) => readDocument({ name: path }, bytes)),
    Effect.map(({ text }) => text),
    Effect.mapError((error) =>
      error instanceof DatasetError ? error : new DatasetError({ path, problem: error.message, nextStep: "correct it", cause: error }),
    ),
  )

const readLines = <S extends Schema.Top & { readonly DecodingServices: never }>(
  path: string,
  schema: S,
): Effect.Effect<ReadonlyArray<S["Type"]>, DatasetError> => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return Effect.flatMap(read(path), (bytes) => {
    const lines = new TextDecoder().decode(bytes).split("\n")
    return Effect.forEach(
      lines.flatMap((line, at) => (line.trim() === "" ? [] : [{ line, number: at + 1 }])),
      ({ line, number }) =>
        Effect.mapError(
          decode(line),
          (cause) =>
            new DatasetError({ path, problem: `line ${number} is not what it should be: ${cause.message}`, nextStep: "correct it", cause }),
        ),
    )
  })
}

const read = (path: string): Effect.Effect<Uint8Array, DatasetError> => attempt(path, () => readFile(path))

const list = (folder: string): Effect.Effect<ReadonlyArray<string>, DatasetError> =>
  attempt(folder, async () => (await readdir(folder)).filter((name) => !name.startsWith(".")).sort())

const orUndefined = <A>(effect: Effect.Effect<A, DatasetError>): Effect.Effect<A | undefined> =>
  // A plain file among the folders is none of ours.
  Effect.orElseSucceed(effect, () => undefined)

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, DatasetError> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) =>
      new DatasetError({
        path,
        problem: cause instanceof Error && "code" in cause && cause.code === "ENOENT" ? "it does not exist" : String(cause),
        nextStep: "check the path",
        cause,
      }),
  })

/** A folder to evaluate on is not laid out as it should be. */
export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  path: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${this.path}: ${this.problem}; ${this.nextStep}`
  }
}
