/** `detent graph`: the knowledge graph that batches add to. */
import { text as readAll } from "node:stream/consumers"
import {
  type BatchChanges,
  CanonicalGraph,
  type DiffFact,
  DocumentId,
  exportGraph as exported,
  isFactCursor,
  localName,
  type Place,
} from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as graph from "@detent/workspace/operations/graph"
import * as explore from "@detent/workspace/operations/graphExplore"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { batchIdOf } from "../batch/BatchSource.ts"
import { WrongUsage } from "../Failure.ts"
import { answerText } from "../graph/Answer.ts"
import { chooseGraph, chooseVersion, versionIn } from "../graph/chooseGraph.ts"
import { chooseClass, chooseProperty } from "../graph/chooseTerm.ts"
import { command } from "../line/Command.ts"
import { counted } from "../output/Count.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { writePieces } from "../output/Writing.ts"
import { notACursor } from "../workspace/Cursor.ts"
import { knowledge } from "../workspace/Opening.ts"
import { paging, upTo } from "./shared.ts"

const { observing } = knowledge

const versionOption = {
  name: "version",
  kind: "text",
  value: "VERSION",
  summary: "a version, as `detent graph versions` shows it. Default: the current version",
} as const

const namespace = { name: "namespace", kind: "text", value: "NAME", summary: "the graph; not needed where there is only one" } as const

const query = command(
  {
    name: "graph query",
    summary: "query the graph with SPARQL",
    arguments: [{ name: "sparql", summary: "the query, or - to read it from stdin" }],
    options: [
      namespace,
      versionOption,
      { name: "timeout", kind: "integer", value: "SECONDS", default: 30, summary: "stop the query after this time" },
    ],
    examples: [
      {
        line: 'detent graph query "SELECT ?name { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?name } LIMIT 5"',
        says: "prints a table; --json prints SPARQL JSON",
      },
      { line: "detent graph query - < question.rq", says: "a query from a file" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const sparql = input.sparql === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : input.sparql
      return yield* Effect.gen(function* () {
        const version = yield* chooseVersion(input)
        const answer = yield* graph.query(version, sparql, { timeout: input.timeout * 1000 })
        if (output.isJson) return yield* output.write(`${answer.body.trimEnd()}\n`)
        yield* output.text(answerText(answer, output.style))
      }).pipe(Effect.provide(observing(input)))
    }),
)

const exportGraph = command(
  {
    name: "graph export",
    summary: "export the graph for other programs",
    arguments: [],
    options: [
      namespace,
      versionOption,
      {
        name: "format",
        kind: "text",
        value: "FORMAT",
        choices: ["turtle", "ntriples", "jsonld", "entities", "relations"],
        default: "turtle",
        summary: "entities and relations are tables (CSV)",
      },
      { name: "output", kind: "text", value: "FILE", summary: "write to this file. Default: stdout", complete: "file" },
    ],
    examples: [{ line: "detent graph export --format relations --output relations.csv", says: "for a spreadsheet" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { lines } = yield* CanonicalGraph.CanonicalGraph
      const pieces = exported(lines(version), input.format)
      const { output: file } = input
      if (file === undefined) return yield* Stream.runForEach(pieces, output.write)
      yield* writePieces(file, pieces)
      yield* output.value({ namespace: version.namespace, version: version.version, format: input.format, file }, () => "")
      yield* output.note(`${file} written`)
    }).pipe(Effect.provide(observing(input))),
)

/** The options of a page of facts or entities. */
const pageOptions = [namespace, versionOption, ...paging] as const

/** The cursor of a page as text for `--after`. */
const cursorOf = (place: string): string => Buffer.from(place).toString("base64url")

const placeOf = (text: string | undefined): Effect.Effect<{ readonly after?: string }, WrongUsage> => {
  if (text === undefined) return Effect.succeed({})
  const after = Buffer.from(text, "base64url").toString("utf8")
  return isFactCursor(after) ? Effect.succeed({ after }) : Effect.fail(notACursor(text))
}

const entities = command(
  {
    name: "graph entities",
    summary: "the entities of the graph, sorted by name",
    arguments: [{ name: "search", summary: "words of a name", optional: true }],
    options: [
      { name: "type", kind: "text", value: "NAME", summary: "only entities of this class: its IRI, or the last part of the IRI" },
      ...pageOptions,
    ],
    examples: [{ line: "detent graph entities lighthouse --limit 10", says: "names, other names and classes" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { search, limit } = input
      const type = yield* chooseClass(version, input.type)
      const page = yield* upTo(limit, (yield* placeOf(input.after)).after, (most, after) =>
        Effect.map(graph.entities(version, { ...optional({ search, type, after }), limit: most }), ({ entities: items, next }) => ({
          items,
          next,
        })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "ENTITY", of: ({ label }) => label, looks: (text, _, style) => style.bold(text) },
          { title: "OTHER NAMES", of: ({ otherLabels }) => otherLabels.join(", ") },
          { title: "CLASSES", of: ({ types }) => types.map(localName).join(", ") },
          { title: "IRI", of: ({ iri }) => iri },
        ],
        "no entity fits",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

/** The text of a value, or the label of an entity. */
const objectText = (fact: { readonly object: string; readonly objectLabel?: string }): string => fact.objectLabel ?? fact.object

const relations = command(
  {
    name: "graph relations",
    summary: "facts of the graph; a fact that several documents state is listed once",
    arguments: [],
    options: [
      { name: "entity", kind: "text", value: "IRI", summary: "only facts with this entity as subject or object" },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      ...pageOptions,
    ],
    examples: [{ line: "detent graph relations --limit 20 --json", says: "with their confidence and the number of sources" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { limit } = input
      const entity = input.entity === undefined ? undefined : yield* entityIri(input.entity)
      const property = yield* chooseProperty(version, input.property)
      const page = yield* upTo(limit, (yield* placeOf(input.after)).after, (most, after) =>
        Effect.map(graph.relations(version, { ...optional({ entity, property, after }), limit: most }), ({ relations: items, next }) => ({
          items,
          next,
        })),
      )
      yield* output.rows(
        page.items,
        [
          { title: "SUBJECT", of: ({ subject, subjectLabel }) => subjectLabel ?? subject },
          { title: "PROPERTY", of: (one) => localName(one.property) },
          { title: "OBJECT", of: objectText },
          { title: "CONFIDENCE", of: ({ confidence }) => confidence.toFixed(2) },
          { title: "PLACES", of: ({ witnesses }) => witnesses },
        ],
        "no fact fits",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

interface Placed {
  readonly places?: ReadonlyArray<Place>
}

const placeText = (place: Place): string => {
  switch (place._tag) {
    case "Cell":
      return `record ${place.record}, ${place.column}`
    case "Pointer":
      return place.pointer
    case "Page":
      return `page ${place.page}`
    case "Characters":
      return `characters ${place.start}-${place.end}`
  }
}

const provenance = command(
  {
    name: "graph provenance",
    summary: "the documents and the words that state the facts of an entity",
    arguments: [{ name: "entity", summary: "the entity's IRI, as `detent graph entities` shows it" }],
    options: [
      {
        name: "places",
        kind: "flag",
        summary: "also show the place of the words in the source: table cell, JSON pointer, page or characters",
      },
      { name: "property", kind: "text", value: "NAME", summary: "only facts of this property: its IRI, or the last part of the IRI" },
      { name: "object", kind: "text", value: "VALUE", summary: "only facts with this object: an IRI, or the text of a value" },
      ...pageOptions,
    ],
    examples: [
      { line: "detent graph provenance http://example.org/people/ada --json", says: "each fact with its quote" },
      { line: "detent graph provenance http://example.org/people/ada --places", says: "with the cell, value or page of each fact" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const subject = yield* entityIri(input.entity)
      const version = yield* chooseVersion(input)
      const { places, object, limit } = input
      const property = yield* chooseProperty(version, input.property)
      const isOneFact = property !== undefined || object !== undefined
      if (isOneFact && places)
        return yield* new WrongUsage({ problem: "--places shows all facts of an entity", nextStep: "remove --property and --object" })
      const page = isOneFact
        ? yield* explore.facts(version, { subject, property, object, limit, ...(yield* placeOf(input.after)) })
        : yield* graph.provenance(version, subject, { ...(yield* placeOf(input.after)), limit, places })
      yield* output.rows(
        page.facts,
        [
          { title: "PROPERTY", of: ({ property }) => localName(property) },
          { title: "OBJECT", of: objectText },
          { title: "DOCUMENT", of: ({ documentId, source }) => source ?? documentId },
          ...(places ? [{ title: "PLACE", of: ({ places: found = [] }: Placed) => found.map(placeText).join(", ") }] : []),
          { title: "WORDS", of: ({ quote }) => quote },
        ],
        "no fact of this entity",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorOf(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

const diff = command(
  {
    name: "graph diff",
    summary: "the facts that a batch added and removed, or the difference between two versions, by document",
    arguments: [{ name: "batch", summary: "the batch's id, as `detent batch list` shows it; or --from", optional: true }],
    options: [
      { name: "from", kind: "text", value: "VERSION", summary: "compare this version, as `detent graph versions` shows it" },
      { name: "to", kind: "text", value: "VERSION", summary: "with this version. Default: the current version" },
      namespace,
      { name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "at most this many added and removed facts" },
    ],
    examples: [
      { line: "detent graph diff batch-3f9c2a71b0d4 --json", says: "one JSON value, with the words that state each fact" },
      { line: "detent graph diff --from 3f9c2a71b0d41122", says: "the changes since that version" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const from = yield* versionIn("--from", input.from)
      const to = yield* versionIn("--to", input.to)
      if ((input.batch === undefined) === (from === undefined))
        return yield* new WrongUsage({
          problem: "nothing to compare was named",
          nextStep: "name a batch of `detent batch list`, or with --from a version of `detent graph versions`",
        })
      const changed =
        from === undefined
          ? yield* batches.changes(yield* batchIdOf(input.batch ?? ""), input.limit)
          : yield* explore.diff((yield* chooseGraph(input.namespace)).namespace, from, to, input.limit)
      yield* output.value(changed, () => diffText(changed, output.style))
    }).pipe(Effect.provide(observing(input))),
)

const versions = command(
  {
    name: "graph versions",
    summary: "the versions of a graph, newest first",
    arguments: [],
    options: [namespace, ...paging],
    examples: [{ line: "detent graph versions --limit 5", says: "to compare with `detent graph diff --from`" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { namespace: name } = yield* chooseGraph(input.namespace)
      const page = yield* explore.versions(name, { limit: Math.min(1000, input.limit), after: yield* versionIn("--after", input.after) })
      yield* output.rows(
        page.versions,
        [
          { title: "VERSION", of: ({ version }) => version },
          { title: "TRIPLES", of: ({ triples }) => triples },
          { title: "BATCHES", of: (one) => one.batches },
          { title: "ADDED", of: ({ at }) => (at === undefined ? "" : momentText(at)) },
        ],
        "no versions",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

const neighbourhood = command(
  {
    name: "graph neighbourhood",
    summary: "the entities around an entity, and their relations",
    arguments: [{ name: "entity", summary: "the entity's IRI, as `detent graph entities` shows it" }],
    options: [
      namespace,
      versionOption,
      { name: "depth", kind: "integer", value: "N", default: 1, minimum: 1, summary: "steps from the entity; the maximum is 3" },
      { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many entities; the maximum is 300" },
    ],
    examples: [{ line: "detent graph neighbourhood http://example.org/people/ada --depth 2", says: "includes entities two steps away" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const entity = yield* entityIri(input.entity)
      const version = yield* chooseVersion(input)
      const found = yield* explore.neighbourhood(version, entity, { depth: Math.min(3, input.depth), limit: input.limit })
      if (output.isJson) return yield* output.value(found, () => "")
      const names = new Map(found.nodes.map(({ iri, label }) => [iri, label ?? iri]))
      yield* output.rows(
        found.edges,
        [
          { title: "FROM", of: ({ from }) => names.get(from) ?? from },
          { title: "PROPERTY", of: ({ property }) => localName(property) },
          { title: "TO", of: ({ to }) => names.get(to) ?? to },
          { title: "CONFIDENCE", of: ({ confidence }) => confidence.toFixed(2) },
          { title: "PLACES", of: ({ witnesses }) => witnesses },
        ],
        "the entity is related to no other entity",
      )
      const hidden = found.nodes.reduce((sum, node) => sum + node.hidden, 0)
      if (hidden > 0) yield* output.note(`${hidden} relations are not shown; raise --limit or --depth to see them`)
    }).pipe(Effect.provide(observing(input))),
)

const text = command(
  {
    name: "graph text",
    summary: "a part of the extracted text of a document",
    arguments: [{ name: "document", summary: "the document's id, as `detent graph provenance --json` shows it" }],
    options: [
      namespace,
      versionOption,
      {
        name: "start",
        kind: "integer",
        value: "N",
        default: 0,
        minimum: 0,
        summary: "the first character; the output includes some text before it",
      },
      { name: "end", kind: "integer", value: "N", minimum: 0, summary: "the last character; the output includes some text after it" },
    ],
    examples: [{ line: "detent graph text doc-3f9c2a71b0d4 --start 1200 --end 1400", says: "the words around a quote" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const id = Schema.decodeUnknownOption(DocumentId)(input.document)
      if (Option.isNone(id))
        return yield* new WrongUsage({
          problem: `${input.document} is not an id of a document`,
          nextStep: "see `detent graph provenance --json`",
        })
      const version = yield* chooseVersion(input)
      const found = yield* explore.documentText(version, id.value, { start: input.start, ...optional({ end: input.end }) })
      yield* output.value(found, () => `${found.text}\n`)
      if (found.matchesRun === false) yield* output.note("the source has changed since it was extracted")
      if (found.text.length < found.length)
        yield* output.note(`characters ${found.from} to ${found.from + found.text.length} of ${found.length}`)
    }).pipe(Effect.provide(observing(input))),
)

const vocabulary = command(
  {
    name: "graph vocabulary",
    summary: "the classes and properties that a graph uses, most frequent first",
    arguments: [],
    options: [namespace, versionOption],
    examples: [{ line: "detent graph vocabulary", says: "the names that a query can use" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* explore.vocabulary(yield* chooseVersion(input), { timeout: "30 seconds" })
      if (output.isJson) return yield* output.value(found, () => "")
      const rows = [
        ...found.classes.map((one) => ({ kind: "class", ...one })),
        ...found.properties.map((one) => ({ kind: "property", ...one })),
      ]
      yield* output.rows(
        rows,
        [
          { title: "", of: ({ kind }) => kind },
          { title: "USED", of: ({ count }) => count },
          { title: "IRI", of: ({ iri }) => iri },
        ],
        "the graph is empty",
      )
    }).pipe(Effect.provide(observing(input))),
)

/** Each document with its added and removed facts. */
const diffText = ({ namespace, added, removed, documents }: Omit<BatchChanges, "batchId">, style: Style): string => {
  const head = `${namespace}: ${counted(added, "fact")} added, ${removed} removed, in ${counted(documents.length, "document")}\n`
  const bodies = documents.map((document) =>
    [
      style.bold(document.source ?? document.documentId),
      ...document.added.map((fact) => style.green(`  + ${factText(fact)}`)),
      ...document.removed.map((fact) => style.red(`  - ${factText(fact)}`)),
      "",
    ].join("\n"),
  )
  const listed = documents.reduce((sum, one) => sum + one.added.length + one.removed.length, 0)
  const rest = added + removed - listed
  return [head, ...bodies, rest === 0 ? "" : `and ${rest} more; raise --limit to see them\n`].join("")
}

const factText = ({ subject, subjectLabel, property, object, objectLabel, quote }: DiffFact): string =>
  `${subjectLabel ?? subject} | ${localName(property)} | ${objectLabel ?? object}   "${quote.replace(/\s+/g, " ")}"`

const report = command(
  {
    name: "graph report",
    summary: "show documents with their facts marked in the text",
    detail:
      "Writes one HTML file that needs no network: each document with its accepted facts, the facts for review, and the quarantined facts.",
    arguments: [],
    options: [
      namespace,
      versionOption,
      { name: "html", kind: "flag", summary: "as HTML, which is the default and the only format" },
      { name: "out", kind: "text", value: "FILE", default: "report.html", summary: "the file to write; - is stdout", complete: "file" },
      { name: "batch", kind: "text", value: "ID", summary: "only documents that this batch extracted" },
      { name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "at most this many documents" },
    ],
    examples: [{ line: "detent graph report --html --out report.html", says: "then open it in a browser" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const batch = input.batch === undefined ? undefined : yield* batchIdOf(input.batch)
      const { pieces, documents, documentsTotal } = yield* graph.report(version, { batch, limit: input.limit })
      if (input.out === "-") return yield* Stream.runForEach(pieces, output.write)
      yield* writePieces(input.out, pieces, "out")
      yield* output.value({ namespace: version.namespace, version: version.version, file: input.out, documents, documentsTotal }, () => "")
      const rest = documentsTotal - documents
      yield* output.note(
        `${input.out} written: ${counted(documents, "document")}${rest === 0 ? "" : `; ${rest} more with a larger --limit`}`,
      )
    }).pipe(Effect.provide(observing(input))),
)

const stats = command(
  {
    name: "graph stats",
    summary: "the size of the graph, and the batches that contributed to it",
    arguments: [],
    options: [namespace],
    examples: [{ line: "detent graph stats --json", says: "one line per graph" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const names = input.namespace === undefined ? yield* graph.namespaces : [input.namespace]
      const rows = yield* Effect.forEach(names.length === 0 ? [undefined] : names, (name) =>
        Effect.gen(function* () {
          const current = yield* chooseGraph(name)
          const { namespace, version } = current
          return { namespace, version, triples: yield* graph.countTriples(current), batches: graph.contributions(current) }
        }),
      )
      yield* output.rows(
        rows,
        [
          { title: "GRAPH", of: ({ namespace }) => namespace },
          { title: "VERSION", of: ({ version }) => version },
          { title: "TRIPLES", of: ({ triples }) => triples },
          { title: "BATCHES", of: ({ batches }) => batches.length },
          { title: "LAST ADDED", of: ({ batches }) => momentText(Math.max(...batches.map(({ ingestedAt }) => ingestedAt))) },
        ],
        "no graph",
      )
    }).pipe(Effect.provide(observing(input))),
)

/** Refuses a name, whose entity may be one of several. */
const entityIri = (entity: string): Effect.Effect<string, WrongUsage> =>
  /^[a-z][a-z0-9+.-]*:\S+$/i.test(entity)
    ? Effect.succeed(entity)
    : Effect.fail(
        new WrongUsage({
          problem: `${JSON.stringify(entity)} is not the IRI of an entity`,
          nextStep: `find it with: detent graph entities ${JSON.stringify(entity)}`,
        }),
      )

export const noun = { name: "graph", summary: "query and export the knowledge graph", system: "knowledge" } as const

export const commands = [
  query,
  entities,
  relations,
  provenance,
  neighbourhood,
  text,
  vocabulary,
  exportGraph,
  report,
  versions,
  diff,
  stats,
]
