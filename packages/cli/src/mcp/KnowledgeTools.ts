/** The tools for knowledge, with their handlers. Imported only where knowledge is on. */
import { DocumentId, isTerminal, modelForms, ReasoningEffort } from "@detent/knowledge"
import { ask } from "@detent/workspace/operations/ask"
import * as batches from "@detent/workspace/operations/batches"
import * as graph from "@detent/workspace/operations/graph"
import * as explore from "@detent/workspace/operations/graphExplore"
import { optional as present } from "@detent/workspace/optional"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { anyNamespace, batchIdOf, readBySource, type SourceInput, sourceOf } from "../batch/BatchSource.ts"
import { selectionOf, startBatch } from "../batch/BatchStarting.ts"
import { batchView } from "../batch/BatchView.ts"
import { decideReview, ownName, reviewPlaceFrom, reviewPlaceText } from "../batch/Reviewing.ts"
import { chooseGraph } from "../graph/chooseGraph.ts"
import { decideIdentity, undoIdentity } from "../graph/Identity.ts"
import { json, type Session, sessionOf } from "./Session.ts"
import { argumentsOf, failure, looking, optional, ToolRefused } from "./Tools.ts"

export const QueryGraph = Tool.make("query_graph", {
  ...looking,
  description: "A SPARQL query over the knowledge graph; the answer is SPARQL JSON, or N-Triples for CONSTRUCT. Use LIMIT.",
  parameters: argumentsOf({
    sparql: Schema.String,
    namespace: optional(Schema.String, "the graph; not needed where there is only one"),
  }),
  success: Schema.Struct({ contentType: Schema.String, body: Schema.String }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const WatchBatch = Tool.make("watch_batch", {
  ...looking,
  description: "Waits until a batch of documents ends, at most this many seconds, and returns its status.",
  parameters: argumentsOf({
    batch: Schema.String.annotate({ description: "the batch's id, such as batch-3f9c2a71b0d4" }),
    seconds: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600 })), "default: 30"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

/** The sources of a batch and its extractor. No base URL: an agent must not choose where the user's API key is sent. */
const batchParameters = {
  source: Schema.String.annotate({
    description: "path of a manifest.json, of a folder that has one, or of a folder of documents; below the working folder",
  }),
  ontology: optional(Schema.String, "path of the ontology; for a folder without a manifest"),
  namespace: optional(Schema.String, "the graph to add to; for a folder without a manifest"),
  shapes: optional(Schema.String, "path of SHACL shapes to validate with. Default: derived from the ontology"),
  examples: optional(Schema.String, "path of sentences with their facts, to learn from"),
  mapping: optional(Schema.String, "path of a mapping of tables and objects to facts; preview_mapping proposes one"),
  extractor: optional(
    Schema.String,
    `built-in, ${modelForms}. Default: that of the manifest, then that of the configuration, then built-in`,
  ),
  budget: optional(
    Schema.String,
    "stop before models use more than this, such as 5usd or 200000tokens. Default: that of the configuration",
  ),
  price: optional(Schema.String, "prices of a million tokens, read and written, such as 0.25/2. Default: that of the price table"),
  rpm: optional(Schema.Int.check(Schema.isGreaterThan(0)), "most requests to the model in a minute. Default: that of the configuration"),
  effort: optional(ReasoningEffort, "how much a reasoning model thinks before it answers. Default: the model's own"),
}

type BatchParameters = Schema.Struct<typeof batchParameters>["Type"]

export const EstimateBatch = Tool.make("estimate_batch", {
  ...looking,
  description: "Estimates a batch: chunks, calls, tokens and cost. No model is called, and nothing is stored.",
  parameters: argumentsOf(batchParameters),
  success: Schema.Struct({ estimate: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const { extractor: _, budget: __, price: ___, effort: ____, ...mappedParameters } = batchParameters

export const PreviewMapping = Tool.make("preview_mapping", {
  ...looking,
  description:
    "Shows which facts a mapping gives for the first rows of tables and JSON, and which columns it does not read; without a mapping, proposes one as YAML. Nothing is stored.",
  parameters: argumentsOf(mappedParameters),
  success: Schema.Struct({ preview: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const StartBatch = Tool.make("start_batch", {
  failure,
  description: "Starts a batch that turns documents into facts of the graph; follow it with watch_batch. Needs the role operate.",
  parameters: argumentsOf({
    ...batchParameters,
    key: optional(Schema.String, "idempotency key: a repeated request returns the first result"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const batchParameter = Schema.String.annotate({ description: "the batch's id, such as batch-3f9c2a71b0d4" })
const property = optional(Schema.String, "only facts of this property: its IRI, or the last part of the IRI")
const below = optional(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  "only facts with a lower confidence than this, from 0 to 1",
)

export const ListReview = Tool.make("list_review", {
  ...looking,
  description:
    "Facts of a batch whose confidence is too low for the graph, with the quoted words, the document and the reason. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({
    batch: batchParameter,
    status: optional(Schema.Literals(["open", "accepted", "rejected"]), "default: open"),
    property,
    below,
    limit: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })), "at most this many. Default: 50"),
    after: optional(Schema.String, "`next` of the previous page"),
  }),
  success: Schema.Struct({ facts: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const DecideReview = Tool.make("decide_review", {
  failure,
  description:
    "Accepts facts of the review list into the graph, or rejects them for this version of their document. A fact with which the graph would violate its shapes is refused. `reopen` reverses a decision. Needs the role operate.",
  parameters: argumentsOf({
    batch: batchParameter,
    decision: Schema.Literals(["accept", "reject", "reopen"]),
    facts: Schema.Array(Schema.String)
      .check(Schema.isMinLength(1), Schema.isMaxLength(1000))
      .annotate({ description: "ids of list_review" }),
    by: optional(Schema.String, "name of the reviewer. Default: the name of the user that runs this program"),
    key: optional(Schema.String, "idempotency key: a repeated request returns the first result"),
  }),
  success: Schema.Struct({ outcome: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

const graphParameter = optional(Schema.String, "the graph; not needed where there is only one")

const entityParameter = Schema.String.annotate({ description: "IRI of the entity, as find_entities gives it" })
const mostParameter = optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })), "at most this many. Default: 20")
const afterParameter = optional(Schema.String, "`next` of the previous page")

export const AskGraph = Tool.make("ask_graph", {
  ...looking,
  description:
    "The facts of the graph that bear on a question, the nearest first, each with its document and the words that state it. Quote these words; what no fact states, the graph does not know.",
  parameters: argumentsOf({
    question: Schema.String,
    limit: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })), "at most this many facts. Default: 10"),
    namespace: graphParameter,
  }),
  success: Schema.Struct({ facts: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const FindEntities = Tool.make("find_entities", {
  ...looking,
  description:
    "Entities of the graph by a part of a name or by class: IRI, names and classes. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({
    search: optional(Schema.String, "a part of a name, in any case"),
    type: optional(Schema.String, "IRI of a class, as read_vocabulary gives it"),
    limit: mostParameter,
    after: afterParameter,
    namespace: graphParameter,
  }),
  success: Schema.Struct({ entities: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const FactsOf = Tool.make("facts_of", {
  ...looking,
  description:
    "The facts of an entity, once for each document that states one: property, value, confidence, document, the words and their place in its text.",
  parameters: argumentsOf({ entity: entityParameter, limit: mostParameter, after: afterParameter, namespace: graphParameter }),
  success: Schema.Struct({ facts: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const AroundEntity = Tool.make("around_entity", {
  ...looking,
  description: "The entities around an entity and the relations between them.",
  parameters: argumentsOf({
    entity: entityParameter,
    depth: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })), "steps from the entity. Default: 1"),
    limit: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 })), "at most this many entities. Default: 50"),
    namespace: graphParameter,
  }),
  success: Schema.Struct({ neighbourhood: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadText = Tool.make("read_text", {
  ...looking,
  description: "A part of the text of a document, as it was when its facts were extracted, with some text before and after it.",
  parameters: argumentsOf({
    document: DocumentId.annotate({ description: "id of the document, as facts give it" }),
    start: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), "the first character. Default: 0"),
    end: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), "the last character"),
    namespace: graphParameter,
  }),
  success: Schema.Struct({ text: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadVocabulary = Tool.make("read_vocabulary", {
  ...looking,
  description: "The classes and properties that the graph uses, most frequent first: the names that a query can use.",
  parameters: argumentsOf({ namespace: graphParameter }),
  success: Schema.Struct({ vocabulary: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const DecideIdentity = Tool.make("decide_identity", {
  failure,
  description:
    "Makes two entities of the graph one, makes one several, or keeps two apart, for later batches too. Returns the decision with its number for undo_identity. Needs the role operate.",
  parameters: argumentsOf({
    decision: Schema.Literals(["merge", "split", "different"]),
    entities: Schema.Array(Schema.String)
      .check(Schema.isMinLength(1), Schema.isMaxLength(2))
      .annotate({ description: "IRIs: two, of which the first stays with merge; one with split" }),
    documents: Schema.optionalKey(
      Schema.Array(DocumentId)
        .check(Schema.isMinLength(1), Schema.isMaxLength(1000))
        .annotate({ description: "with split: ids of documents whose mentions become one entity. Default: those of each document do" }),
    ),
    reason: optional(Schema.String, "why; kept with the decision"),
    namespace: graphParameter,
    by: optional(Schema.String, "who decides. Default: the name of the user that runs this program"),
    key: optional(Schema.String, "idempotency key: a repeated request returns the first result"),
  }),
  success: Schema.Struct({ decision: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const UndoIdentity = Tool.make("undo_identity", {
  failure,
  description: "Takes back a decision of decide_identity: the graph gets the entities back as they were. Needs the role operate.",
  parameters: argumentsOf({
    decision: Schema.Int,
    namespace: graphParameter,
    by: optional(Schema.String, "who undoes it. Default: the name of the user that runs this program"),
    key: optional(Schema.String, "idempotency key: a repeated request returns the first result"),
  }),
  success: Schema.Struct({ decision: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const knowledgeTools = Toolkit.make(
  QueryGraph,
  AskGraph,
  FindEntities,
  FactsOf,
  AroundEntity,
  ReadText,
  ReadVocabulary,
  WatchBatch,
  PreviewMapping,
  EstimateBatch,
  StartBatch,
  ListReview,
  DecideReview,
  DecideIdentity,
  UndoIdentity,
)

export const knowledgeToolHandlers = (
  session: Session,
): Layer.Layer<Tool.HandlersFor<typeof knowledgeTools.tools>, never, WorkspaceServices | KnowledgeServices> =>
  knowledgeTools.toLayer(
    Effect.map(Effect.context<WorkspaceServices | KnowledgeServices>(), (workspace) => {
      const { answering, operating } = sessionOf(session, workspace)
      return {
        query_graph: ({ sparql, namespace }) =>
          answering(
            Effect.gen(function* () {
              const version = yield* chooseGraph(namespace)
              return yield* graph.query(version, sparql, { maxLength: 200_000 })
            }),
          ),
        ask_graph: ({ question, limit, namespace }) =>
          answering(
            Effect.gen(function* () {
              const asked = { model: false as const, ...(limit === undefined ? {} : { limit }) }
              return { facts: (yield* ask(yield* chooseGraph(namespace), question, asked)).facts.map(json) }
            }),
          ),
        find_entities: ({ search, type, limit = 20, after, namespace }) =>
          answering(
            Effect.gen(function* () {
              const wanted = { limit, ...present({ search, type, after }) }
              const page = yield* graph.entities(yield* chooseGraph(namespace), wanted)
              return { entities: page.entities.map(json), ...present({ next: page.next }) }
            }),
          ),
        facts_of: ({ entity, limit = 20, after, namespace }) =>
          answering(
            Effect.gen(function* () {
              const page = yield* graph.provenance(yield* chooseGraph(namespace), entity, { limit, ...present({ after }) })
              return { facts: page.facts.map(json), ...present({ next: page.next }) }
            }),
          ),
        around_entity: ({ entity, depth = 1, limit = 50, namespace }) =>
          answering(
            Effect.gen(function* () {
              return { neighbourhood: json(yield* explore.neighbourhood(yield* chooseGraph(namespace), entity, { depth, limit })) }
            }),
          ),
        read_text: ({ document, start, end, namespace }) =>
          answering(
            Effect.gen(function* () {
              return { text: json(yield* explore.documentText(yield* chooseGraph(namespace), document, present({ start, end }))) }
            }),
          ),
        read_vocabulary: ({ namespace }) =>
          answering(
            Effect.gen(function* () {
              return { vocabulary: json(yield* explore.vocabulary(yield* chooseGraph(namespace), {})) }
            }),
          ),
        watch_batch: ({ batch, seconds = 30 }) =>
          answering(
            Effect.gen(function* () {
              const id = yield* batchIdOf(batch)
              const looking = Effect.repeat(batches.state(id), { until: isTerminal, schedule: Schedule.spaced("200 millis") })
              const state = yield* Effect.timeoutOrElse(looking, { duration: seconds * 1000, orElse: () => batches.state(id) })
              return { batch: json(batchView(state)) }
            }),
          ),
        list_review: ({ batch, status = "open", property, below, limit = 50, after }) =>
          answering(
            Effect.gen(function* () {
              const id = yield* batchIdOf(batch)
              const filter = { ...(property === undefined ? {} : { property }), ...(below === undefined ? {} : { below }) }
              const page = yield* batches.review(id, { status, ...filter, limit, ...(yield* reviewPlaceFrom(after)) })
              return { facts: page.facts.map(json), ...(page.next === undefined ? {} : { next: reviewPlaceText(page.next) }) }
            }),
          ),
        decide_review: ({ batch, decision, facts, by, key }) =>
          operating(
            Effect.gen(function* () {
              const id = yield* batchIdOf(batch)
              const decided = { action: decision, id, selection: { facts }, by: by ?? ownName(), key }
              return { outcome: json(yield* decideReview(serverWithKnowledge(session), decided)) }
            }),
          ),
        decide_identity: ({ decision: kind, entities, documents, reason, namespace, by, key }) =>
          operating(
            Effect.gen(function* () {
              const graphs = yield* chooseGraph(namespace)
              const request = { kind, entities, documents, reason, by, key }
              return { decision: json(yield* decideIdentity(serverWithKnowledge(session), graphs.namespace, request)) }
            }),
          ),
        undo_identity: ({ decision, namespace, by, key }) =>
          operating(
            Effect.gen(function* () {
              const graphs = yield* chooseGraph(namespace)
              return { decision: json(yield* undoIdentity(serverWithKnowledge(session), graphs.namespace, { decision, by, key })) }
            }),
          ),
        estimate_batch: (parameters) =>
          answering(
            Effect.gen(function* () {
              const input = inputOf(parameters)
              yield* readBySource(input)
              const config = yield* selectionOf(parameters)
              const { folder, manifest } = yield* sourceOf(input)
              return { estimate: json(yield* batches.estimate({ folder, manifest, config })) }
            }),
          ).pipe(withArguments),
        preview_mapping: (parameters) =>
          answering(
            Effect.gen(function* () {
              const input = { ...inputOf(parameters), namespace: parameters.namespace ?? anyNamespace }
              yield* readBySource(input)
              return { preview: json(yield* batches.previewMapping(yield* sourceOf(input))) }
            }),
          ).pipe(withArguments),
        start_batch: ({ key, ...parameters }) =>
          operating(
            Effect.gen(function* () {
              const input = inputOf(parameters)
              yield* readBySource(input)
              const id = yield* startBatch(serverWithKnowledge(session), input, yield* selectionOf(parameters), key)
              const state = yield* batches.state(id)
              return { batch: json(batchView(state)) }
            }),
          ).pipe(withArguments),
      }
    }),
  )

const serverWithKnowledge = ({ server }: Session) => (server?.systems.includes("knowledge") ? server : undefined)

const inputOf = ({
  source,
  ontology,
  namespace,
  shapes,
  examples,
  mapping,
}: Pick<BatchParameters, "source" | "ontology" | "namespace" | "shapes" | "examples" | "mapping">): SourceInput => ({
  source,
  ontology,
  namespace,
  shapes,
  examples,
  mapping,
  "keep-missing": false,
})

/** Replaces options of the command in an error by the tool's arguments of the same names. */
const withArguments = <A>(tool: Effect.Effect<A, ToolRefused>): Effect.Effect<A, ToolRefused> =>
  Effect.mapError(tool, ({ reason }) => new ToolRefused({ reason: reason.replaceAll(optionNames, "`$1`") }))

const optionNames = /--(ontology|namespace|shapes|examples|mapping|extractor|budget|price|effort)(?: (?:FILE|NAME)\b)?/g
