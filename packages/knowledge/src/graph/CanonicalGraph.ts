/**
 * The graph of a namespace, to which batches contribute. A contribution is a file of sorted triples that is never changed; a
 * version of the graph is a list of contributions; the pointer to the current version is swapped only if nobody swapped it
 * since it was read. So a batch adds its facts without copying those of others, withdrawing it takes only its own away, and
 * every earlier version can still be read.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import { BatchId, ContentHash, contentHashOf, Namespace } from "../storage/Identity.ts"
import { pathOfVersion, pathsOfNamespace } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"
import { type Blob, ifAbsent, ifGeneration, Storage } from "../storage/Storage.ts"
import type { PreconditionFailed, StorageError } from "../storage/StorageError.ts"
import { blobIn, type StorageFolder, StorageUri } from "../storage/Uri.ts"
import { mergedLines } from "./StoredLines.ts"

/** What one batch added: sorted N-Triples, each line once. */
export const Contribution = Schema.Struct({
  batchId: BatchId,
  uri: StorageUri,
  hash: ContentHash,
  triples: Count,
  ingestedAt: Schema.DateTimeUtc,
})
export type Contribution = typeof Contribution.Type

export const GraphVersion = Schema.Struct({
  namespace: Namespace,
  /** The hash of what it consists of: equal versions are equal graphs. */
  version: ContentHash,
  previous: Schema.OptionFromNullOr(ContentHash),
  contributions: Schema.Array(Contribution),
})
export type GraphVersion = typeof GraphVersion.Type

const GraphVersionJson = Schema.fromJsonString(Schema.toCodecJson(GraphVersion))

/** The pointer or a version of the graph cannot be read: somebody else wrote it, or it is damaged. */
export class GraphVersionDamaged extends Schema.TaggedError<GraphVersionDamaged>()("GraphVersionDamaged", {
  uri: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri} is no version of a graph: ${this.problem}; restore it from the versions beside it or from a backup`
  }
}

export class GraphVersionUnknown extends Schema.TaggedError<GraphVersionUnknown>()("GraphVersionUnknown", {
  namespace: Namespace,
  version: ContentHash,
}) {
  override get message() {
    return `the graph ${this.namespace} has no version ${this.version}; leave the version out to read the current one`
  }
}

export type GraphError = StorageError | GraphVersionDamaged

export interface CanonicalGraphService {
  /** The current version; none before the first batch. */
  readonly current: (namespace: Namespace) => Effect.Effect<Option.Option<GraphVersion>, GraphError>
  /** An earlier version. */
  readonly version: (namespace: Namespace, version: ContentHash) => Effect.Effect<GraphVersion, GraphError | GraphVersionUnknown>
  /** Adds what a batch contributes, in place of what it contributed before. The same again changes nothing. */
  readonly contribute: (namespace: Namespace, contribution: Omit<Contribution, "ingestedAt">) => Effect.Effect<GraphVersion, GraphError>
  /** Takes away what a batch contributed, whatever came after it. None when it had contributed nothing. */
  readonly withdraw: (namespace: Namespace, batch: BatchId) => Effect.Effect<Option.Option<GraphVersion>, GraphError>
  /** The triples of a version as sorted lines, each once. */
  readonly lines: (version: GraphVersion) => Stream.Stream<string, StorageError | ArtifactDamaged>
}

export class CanonicalGraph extends Context.Service<CanonicalGraph, CanonicalGraphService>()("@detent/knowledge/CanonicalGraph") {}

export const make = (folder: StorageFolder): Effect.Effect<CanonicalGraphService, never, Storage> =>
  Effect.map(Storage, (storage) => {
    const pointerOf = (namespace: Namespace) => blobIn(folder, pathsOfNamespace(namespace).pointer)

    const read = (namespace: Namespace): Effect.Effect<Option.Option<readonly [GraphVersion, Blob]>, GraphError> =>
      storage.get(pointerOf(namespace)).pipe(
        Effect.flatMap((blob) => Effect.map(decode(blob), (version) => Option.some([version, blob] as const))),
        Effect.catchTag("BlobNotFound", () => Effect.succeed(Option.none())),
      )

    /** Of two who swap at once one is told, reads what the other wrote, and decides again. */
    const swap = (
      namespace: Namespace,
      change: (contributions: ReadonlyArray<Contribution>, now: DateTime.Utc) => ReadonlyArray<Contribution> | undefined,
    ): Effect.Effect<Option.Option<GraphVersion>, GraphError> =>
      Effect.gen(function* () {
        const found = yield* read(namespace)
        const before = Option.map(found, ([version]) => version)
        const changed = change(Option.match(before, { onNone: () => [], onSome: (one) => one.contributions }), yield* DateTime.now)
        if (changed === undefined) return before
        const next = versionOf(namespace, before, changed)
        const text = yield* Effect.orDie(Schema.encodeEffect(GraphVersionJson)(next))
        // Versions are written before the pointer: what it names is always there.
        yield* keep(blobIn(folder, pathOfVersion(namespace, next.version)), text)
        const condition = Option.match(found, { onNone: () => ifAbsent, onSome: ([, blob]) => ifGeneration(blob.generation) })
        yield* storage.set(pointerOf(namespace), text, condition)
        return Option.some(next)
      }).pipe(Effect.retry({ while: isPreconditionFailed, schedule: Schedule.jittered(Schedule.spaced("20 millis")), times: 500 }))

    const keep = (uri: StorageUri, text: string) =>
      Effect.catchTag(Effect.asVoid(storage.set(uri, text, ifAbsent)), "PreconditionFailed", () => Effect.void)

    return {
      current: (namespace) => Effect.map(read(namespace), (found) => Option.map(found, ([version]) => version)),
      version: (namespace, version) =>
        storage.get(blobIn(folder, pathOfVersion(namespace, version))).pipe(
          Effect.flatMap(decode),
          Effect.catchTag("BlobNotFound", () => Effect.fail(new GraphVersionUnknown({ namespace, version }))),
        ),
      contribute: (namespace, contribution) =>
        swap(namespace, (contributions, ingestedAt) => {
          const same = contributions.find(({ batchId }) => batchId === contribution.batchId)
          if (same?.hash === contribution.hash) return undefined
          return [...contributions.filter((one) => one !== same), { ...contribution, ingestedAt }]
        }).pipe(Effect.flatMap((version) => Effect.orDie(Effect.fromOption(version)))),
      withdraw: (namespace, batch) =>
        Effect.gen(function* () {
          let had = false
          const version = yield* swap(namespace, (contributions) => {
            const rest = contributions.filter(({ batchId }) => batchId !== batch)
            had = rest.length < contributions.length
            return had ? rest : undefined
          })
          return had ? version : Option.none()
        }),
      lines: (version) => mergedLines(storage, version.contributions),
    }
  })

/** Graphs below a folder of the storage. */
export const layer = (folder: StorageFolder): Layer.Layer<CanonicalGraph, never, Storage> => Layer.effect(CanonicalGraph, make(folder))

const versionOf = (
  namespace: Namespace,
  before: Option.Option<GraphVersion>,
  contributions: ReadonlyArray<Contribution>,
): GraphVersion => ({
  namespace,
  version: contentHashOf(JSON.stringify(contributions.map(({ batchId, hash }) => [batchId, hash]))),
  previous: Option.map(before, ({ version }) => version),
  contributions,
})

const decode = (blob: Blob): Effect.Effect<GraphVersion, GraphVersionDamaged> =>
  Effect.mapError(
    Schema.decodeEffect(GraphVersionJson)(new TextDecoder().decode(blob.bytes)),
    (error) => new GraphVersionDamaged({ uri: blob.uri, problem: error.message }),
  )

const isPreconditionFailed = (error: GraphError): error is PreconditionFailed => error._tag === "PreconditionFailed"
