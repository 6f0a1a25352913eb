/**
 * Corrections of entities by people: two entities are one, one entity is several, or two entities are not the same.
 *
 * ```ts
 * const identities = yield* Identities
 * const decision = yield* identities.decide(namespace, { kind: "merge", entities: [kept, other] }, { by: "ada", reason: "one lighthouse" })
 * yield* identities.undo(namespace, decision.id, { by: "ada" })
 * ```
 *
 * A decision is stored before the graph changes. A process that dies in between leaves it unfinished: the next decision, or the loop of a
 * working process, applies it. Applying it twice changes nothing. Later batches honour it, for the mentions that it names.
 */

import { contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, getText, Storage, type StorageFolder } from "@detent/blobs/Storage"
import { forkLoop } from "@detent/durable"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Batches } from "../batch/Batches.ts"
import { defaultBatchConfig } from "../batch/BatchState.ts"
import { newViolations, publishGraph } from "../batch/GraphStages.ts"
import { loadManifest } from "../batch/Manifest.ts"
import { startedOntology } from "../batch/ManifestMaking.ts"
import { CanonicalGraph, type Contribution, type GraphError, type GraphVersion } from "../graph/CanonicalGraph.ts"
import { mergedStreams, storedLines, writeLines } from "../graph/GraphLines.ts"
import { type EntityOf, type MentionOf, mentionsOf, moveMentions } from "../graph/MovedMentions.ts"
import type { IdentityDecision, IdentityKind } from "../review/IdentityDecision.ts"
import { IdentityStore, type MentionMove } from "../review/IdentityStore.ts"
import type { Extractors } from "../runs/Extractors.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import type { Namespace } from "../storage/Identity.ts"
import { linesOfBatch, pathsOfBatch } from "../storage/Paths.ts"

/** What is decided: `merge` and `different` name two entities, `split` names one. */
export interface IdentityRequest {
  readonly kind: IdentityKind
  /** IRIs. With `merge`, the first one stays. */
  readonly entities: ReadonlyArray<string>
  /** With `split`: the documents whose mentions become one entity of their own. Default: the mentions of each document do. */
  readonly documents?: ReadonlyArray<string> | undefined
}

/** Who decides, and why. */
export interface IdentityActor {
  readonly by: string
  readonly reason?: string | undefined
}

export class EntityUnknown extends Schema.TaggedError<EntityUnknown>()("EntityUnknown", {
  namespace: Schema.String,
  entity: Schema.String,
}) {
  override get message() {
    return `the graph ${this.namespace} has no entity ${this.entity}; search for it to find its IRI`
  }
}

/** The decision contradicts itself, another decision, or the shapes of the graph. */
export class IdentityRefused extends Schema.TaggedError<IdentityRefused>()("IdentityRefused", { problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

export class IdentityUnknown extends Schema.TaggedError<IdentityUnknown>()("IdentityUnknown", {
  namespace: Schema.String,
  decision: Schema.Int,
}) {
  override get message() {
    return `the graph ${this.namespace} has no decision ${this.decision}; list the decisions to find its number`
  }
}

type StoreError = Effect.Error<ReturnType<(typeof IdentityStore)["Service"]["add"]>>

type GraphFailed =
  | StoreError
  | GraphError
  | Effect.Error<ReturnType<typeof publishGraph>>
  | Effect.Error<ReturnType<typeof loadManifest>>
  | Effect.Error<ReturnType<typeof startedOntology>>
  | Effect.Error<ReturnType<(typeof Batches)["Service"]["state"]>>
  | Effect.Error<ReturnType<typeof newViolations>>

export interface IdentitiesService {
  /** Decides, and changes the graph. Refused where the graph would violate its shapes. */
  readonly decide: (
    namespace: Namespace,
    request: IdentityRequest,
    actor: IdentityActor,
  ) => Effect.Effect<IdentityDecision, GraphFailed | EntityUnknown | IdentityRefused>
  /** Takes a decision back. A decision that a later one builds on is refused. */
  readonly undo: (
    namespace: Namespace,
    decision: number,
    actor: Pick<IdentityActor, "by">,
  ) => Effect.Effect<IdentityDecision, GraphFailed | IdentityUnknown | IdentityRefused>
  /** Newest first. */
  readonly list: (
    namespace: Namespace,
    query: { readonly before?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<IdentityDecision>, StoreError>
  /** Applies what an earlier process stored and did not apply. */
  readonly finish: Effect.Effect<void, GraphFailed>
}

export class Identities extends Context.Service<Identities, IdentitiesService>()("@detent/knowledge/Identities") {
  /** Files of the graph are kept below the folder. */
  static readonly layer = (folder: StorageFolder) => Layer.effect(Identities, make(folder))

  /** For a working process: applies decisions that another process stored and could not apply. */
  static readonly publishing: Layer.Layer<never, never, Identities> = Layer.effectDiscard(
    Effect.gen(function* () {
      const { finish } = yield* Identities
      yield* forkLoop("the application of decisions on entities", Effect.andThen(finish, Effect.sleep("30 seconds")))
    }),
  )
}

/** The most mentions that one decision moves: all are in memory. */
const mostMentions = 50_000

/** A change of the graph: the entities it concerns, and the entity of each mention afterwards. */
interface Change {
  readonly entities: ReadonlySet<string>
  readonly entityOf: EntityOf
}

const make = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const store = yield* IdentityStore
    const batches = yield* Batches
    const canonical = yield* CanonicalGraph
    const storage = yield* Storage
    const context = yield* Effect.context<Storage | CanonicalGraph | ArtifactStore | Extractors>()
    const one = yield* Semaphore.make(1)

    const currentOf = (namespace: Namespace) => Effect.map(canonical.current(namespace), Option.getOrUndefined)

    /** The entities of a request with their mentions. */
    const foundIn = (namespace: Namespace, entities: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const current = yield* currentOf(namespace)
        const lines = current === undefined ? Stream.empty : canonical.lines(current)
        const found = yield* mentionsOf<GraphError, never>(lines, new Set(entities))
        for (const entity of entities) if (!found.has(entity)) return yield* new EntityUnknown({ namespace, entity })
        return found
      })

    const plan = (namespace: Namespace, request: IdentityRequest) =>
      Effect.gen(function* () {
        const { kind, entities, documents } = request
        const [first = "", second] = entities
        const isPair = kind !== "split"
        if (entities.length !== (isPair ? 2 : 1) || (isPair && first === second))
          return yield* new IdentityRefused({ problem: isPair ? `${kind} needs two different entities` : "split needs one entity" })
        const found = yield* foundIn(namespace, entities)
        const mentions = entities.flatMap((entity) => found.get(entity) ?? [])
        if (mentions.length > mostMentions)
          return yield* new IdentityRefused({
            problem: `the decision concerns ${mentions.length} mentions, more than ${mostMentions}; decide on smaller entities`,
          })
        const stays = ({ documentId, mention, entity }: MentionOf): MentionMove => ({ documentId, mention, before: entity, after: entity })
        if (kind === "different") return { entities, moves: mentions.map(stays) }
        if (kind === "merge") return { entities, moves: mentions.map((of): MentionMove => ({ ...stays(of), after: first })) }
        const wanted = [...new Set(documents)]
        const has = new Set(mentions.map(({ documentId }) => documentId))
        const missing = wanted.find((document) => !has.has(document))
        if (missing !== undefined) return yield* new IdentityRefused({ problem: `${first} has no mention in ${missing}` })
        const groups =
          wanted.length > 0
            ? [wanted]
            : [...has]
                .toSorted()
                .slice(1)
                .map((document) => [document])
        if (groups.length === 0 || wanted.length === has.size)
          return yield* new IdentityRefused({
            problem: `nothing of ${first} would stay: it has mentions in ${[...has].toSorted().slice(0, 20).join(", ")}; name some of these documents`,
          })
        const base = canonical.entityBase(namespace)
        const iriOf = (group: ReadonlyArray<string>) =>
          `${base}${contentHashOf(JSON.stringify(["split", first, group.toSorted()])).slice(0, 20)}`
        const taken = new Map(groups.flatMap((group) => group.map((document) => [document, iriOf(group)] as const)))
        return {
          entities: [first, ...new Set(taken.values())],
          moves: mentions.map((of): MentionMove => ({ ...stays(of), after: taken.get(of.documentId) ?? of.entity })),
        }
      })

    const changeOf = (moves: ReadonlyArray<MentionMove>, merged: ReadonlyMap<string, string>): Change => {
      const after = new Map(moves.map((move) => [move.mention, move.after]))
      return {
        entities: new Set(moves.filter((move) => move.before !== move.after).map((move) => move.before)),
        entityOf: (mention, entity) => (mention === undefined ? undefined : after.get(mention)) ?? merged.get(entity) ?? entity,
      }
    }

    /** The ontology, shapes and policy of the batch that made a contribution. */
    const rulesOf = ({ batchId }: Contribution) =>
      Effect.gen(function* () {
        const manifest = yield* loadManifest(storage, blobIn(folder, pathsOfBatch(batchId).manifest))
        const ontology = yield* Effect.provide(startedOntology(manifest), context)
        const { config } = yield* Effect.catchTag(batches.state(batchId), "BatchNotFound", () =>
          Effect.succeed({ config: defaultBatchConfig }),
        )
        const { shaclUri } = manifest
        const shapes = shaclUri === undefined ? undefined : { text: yield* getText(storage, shaclUri), source: shaclUri }
        return { ontology, shapes, isChecked: config.validation !== "warn" }
      })

    /** Fails if the graph would violate its shapes. */
    const check = (current: GraphVersion, change: Change) =>
      Effect.gen(function* () {
        const latest = Arr.last(current.contributions)
        if (change.entities.size === 0 || Option.isNone(latest)) return
        const { ontology, shapes, isChecked } = yield* rulesOf(latest.value)
        if (!isChecked) return
        const lines = canonical.lines(current)
        const { added, isTouched } = yield* moveMentions<GraphError, never>(lines, change.entities, change.entityOf)
        const { violations, first } = yield* newViolations(
          { shapes, isQuarantine: false },
          {
            back: Stream.fromIterable(added),
            existing: Stream.filter(lines, (line) => !isTouched(line)),
            gone: Stream.filter(lines, isTouched),
          },
          ontology,
        )
        if (first !== undefined)
          return yield* new IdentityRefused({
            problem: `the graph ${current.namespace} would not conform: ${violations} new violations, the first: ${first}`,
          })
      })

    /** Changes each contribution of the graph that has a line of the entities. Starts again when a batch publishes meanwhile. */
    const apply = (namespace: Namespace, change: Change): Effect.Effect<void, GraphFailed> =>
      Effect.gen(function* () {
        if (change.entities.size === 0) return
        let current = yield* currentOf(namespace)
        for (const { batchId } of current?.contributions ?? []) {
          const contribution = current?.contributions.find((each) => each.batchId === batchId)
          if (current === undefined || contribution === undefined) continue
          const lines = storedLines(storage, contribution)
          const { added, isTouched } = yield* moveMentions<GraphError, never>(lines, change.entities, change.entityOf)
          if (added.length === 0) continue
          const changed = mergedStreams<GraphError>([Stream.filter(lines, (line) => !isTouched(line)), Stream.fromIterable(added)])
          const from = contentHashOf(JSON.stringify([contribution.hash, contentHashOf(added.join("\n"))]))
          const written = yield* Effect.provide(writeLines(blobIn(folder, linesOfBatch(batchId, from).reviewed), changed), context)
          const { ingestedAt: _, shown: __, ...same } = contribution
          current = yield* canonical.contributeAt(namespace, { ...same, ...written }, Option.some(current.version))
        }
        const latest = current === undefined ? Option.none() : Arr.last(current.contributions)
        if (Option.isNone(latest)) return
        const { ontology } = yield* rulesOf(latest.value)
        yield* Effect.provide(publishGraph(folder, namespace, ontology), context)
      }).pipe(
        Effect.retry({ while: ({ _tag }) => _tag === "GraphMoved", schedule: Schedule.jittered(Schedule.spaced("20 millis")), times: 500 }),
        Effect.catchTag("GraphMoved", Effect.die),
      )

    /** The moves of a decision as they are to be applied: forth, or back for a decision that is taken back. */
    const movesOf = ({ id, state }: IdentityDecision) =>
      Effect.map(store.moves(id), (moves) =>
        state === "reverting" ? moves.map((move): MentionMove => ({ ...move, before: move.after, after: move.before })) : moves,
      )

    const settle = (decision: IdentityDecision) =>
      Effect.gen(function* () {
        const merged = yield* store.merged(decision.namespace)
        yield* apply(decision.namespace, changeOf(yield* movesOf(decision), merged))
        const state = decision.state === "reverting" ? "undone" : "applied"
        yield* store.change(decision, { state })
        return { ...decision, state } satisfies IdentityDecision
      })

    const finish = Effect.flatMap(store.unfinished, (left) => Effect.forEach(left, settle, { discard: true }))

    const service: IdentitiesService = {
      decide: (namespace, request, { by, reason }) =>
        Effect.gen(function* () {
          yield* finish
          const { entities, moves } = yield* plan(namespace, request)
          const merged = yield* store.merged(namespace)
          const current = yield* currentOf(namespace)
          if (current !== undefined) yield* check(current, changeOf(moves, merged))
          const at = yield* Clock.currentTimeMillis
          return yield* settle(
            yield* store.add({ namespace, kind: request.kind, entities, by, at, ...(reason === undefined ? {} : { reason }), moves }),
          )
        }).pipe(one.withPermit),
      undo: (namespace, id, { by }) =>
        Effect.gen(function* () {
          yield* finish
          const decision = yield* Effect.flatMap(
            store.get(namespace, id),
            Option.match({ onNone: () => Effect.fail(new IdentityUnknown({ namespace, decision: id })), onSome: Effect.succeed }),
          )
          if (decision.state === "undone") return decision
          const later = yield* store.laterThan(decision)
          if (later !== undefined)
            return yield* new IdentityRefused({ problem: `decision ${later} builds on decision ${id}; undo decision ${later} first` })
          const reverting: IdentityDecision = { ...decision, state: "reverting", undoneBy: by, undoneAt: yield* Clock.currentTimeMillis }
          const merged = yield* store.merged(namespace)
          const current = yield* currentOf(namespace)
          if (current !== undefined) yield* check(current, changeOf(yield* movesOf(reverting), withoutMerge(merged, decision)))
          yield* store.change(decision, { state: "reverting", by, at: reverting.undoneAt ?? 0 })
          return yield* settle(reverting)
        }).pipe(one.withPermit),
      list: store.list,
      finish: one.withPermit(finish),
    }
    return service
  })

/** The merges without the one that is taken back. */
const withoutMerge = (merged: ReadonlyMap<string, string>, { kind, entities }: IdentityDecision): ReadonlyMap<string, string> => {
  if (kind !== "merge") return merged
  return new Map([...merged].filter(([gone]) => gone !== entities[1]))
}
