/**
 * The graph of a namespace, to which batches contribute. A contribution is a file of sorted triples that is never changed; a
 * version of the graph is a list of contributions; the pointer to the current version is replaced by compare-and-swap. So a batch
 * adds its facts without copying those of others, withdrawing a batch removes only its own facts, and every earlier version can
 * still be read.
 *
 * A document is in the graph once, as extracted by the latest batch. The facts that an earlier batch has about it are hidden, and
 * reappear when the later batch is withdrawn.
 */

import { ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import {
  type Blob,
  blobIn,
  folderIn,
  ifAbsent,
  ifGeneration,
  Storage,
  type StorageError,
  type StorageFolder,
  StorageUri,
} from "@detent/blobs/Storage"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import { BatchId, Namespace } from "../storage/Identity.ts"
import { pathOfCount, pathOfPart, pathOfVersion, pathsOfNamespace } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"
import { type BatchDocuments, decodeDocuments, type GraphDocument, knownDocuments, writeDocuments } from "./BatchDocuments.ts"
import { mergedLines, mergedStreams, storedLines, withoutDocuments, writeLines } from "./GraphLines.ts"

/** A file of sorted N-Triples, each line once. */
const lines = { uri: StorageUri, hash: ContentHash, triples: Count }

/** The contribution of one batch. */
export const Contribution = Schema.Struct({
  batchId: BatchId,
  ...lines,
  ingestedAt: Schema.DateTimeUtc,
  /** Its documents. One that was ingested without its batch gets them when another batch records its own: see `knownDocuments`. */
  documents: Schema.optionalKey(Schema.Struct({ uri: StorageUri, hash: ContentHash })),
  /** Its statements that validation held back. */
  held: Schema.optionalKey(Schema.Struct(lines)),
  /** What it was validated with: the version that the graph had before it, and the hash of the shapes and the policy. */
  validated: Schema.optionalKey(Schema.Struct({ against: Schema.NullOr(ContentHash), rules: ContentHash })),
  /** Its visible lines, present where a later batch has replaced or withdrawn some of its documents. */
  shown: Schema.optionalKey(Schema.Struct(lines)),
})
export type Contribution = typeof Contribution.Type

export const GraphVersion = Schema.Struct({
  namespace: Namespace,
  /** Hash of the contributions: equal versions are equal graphs. */
  version: ContentHash,
  previous: Schema.OptionFromNullOr(ContentHash),
  contributions: Schema.Array(Contribution),
})
export type GraphVersion = typeof GraphVersion.Type

const GraphVersionJson = Schema.fromJsonString(Schema.toCodecJson(GraphVersion))

/** The pointer or a version of the graph cannot be read: another program wrote it, or it is damaged. */
export class GraphVersionDamaged extends Schema.TaggedError<GraphVersionDamaged>()("GraphVersionDamaged", {
  uri: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri} is not a version of a graph: ${this.problem}; restore it from the versions beside it or from a backup`
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

/** Another batch has published since the version that a contribution was resolved against. */
export class GraphMoved extends Schema.TaggedError<GraphMoved>()("GraphMoved", { namespace: Namespace, version: ContentHash }) {
  override get message() {
    return `the graph ${this.namespace} has moved to version ${this.version}; resolve the batch against it`
  }
}

export type GraphError = StorageError | GraphVersionDamaged | ArtifactDamaged

/** The input of a contribution. */
export type NewContribution = Omit<Contribution, "ingestedAt" | "shown">

/** A document that the graph shows, and the batch whose extraction of it is shown. */
export interface ShownDocument extends GraphDocument {
  readonly batchId: BatchId
}

export interface CanonicalGraphService {
  /** Where the IRIs of new entities of a namespace begin. */
  readonly entityBase: (namespace: Namespace) => string
  /** The current version; none before the first batch. */
  readonly current: (namespace: Namespace) => Effect.Effect<Option.Option<GraphVersion>, GraphError>
  /** An earlier version. */
  readonly version: (namespace: Namespace, version: ContentHash) => Effect.Effect<GraphVersion, GraphError | GraphVersionUnknown>
  /** Adds the contribution of a batch, in place of its earlier one. Idempotent: the same contribution again changes nothing. */
  readonly contribute: (namespace: Namespace, contribution: NewContribution) => Effect.Effect<GraphVersion, GraphError>
  /**
   * Like `contribute`, but fails with `GraphMoved` unless the graph is still at the version that the contribution was resolved
   * against, or has the contribution already. `None` stands for a graph without any version.
   */
  readonly contributeAt: (
    namespace: Namespace,
    contribution: NewContribution,
    against: Option.Option<ContentHash>,
  ) => Effect.Effect<GraphVersion, GraphError | GraphMoved>
  /** Removes the contribution of a batch, regardless of later ones. `None` when the batch has no contribution. */
  readonly withdraw: (namespace: Namespace, batch: BatchId) => Effect.Effect<Option.Option<GraphVersion>, GraphError>
  /** Like `withdraw`, but fails with `GraphMoved` unless the graph is still at version `against`, or has no contribution of the batch. */
  readonly withdrawAt: (
    namespace: Namespace,
    batch: BatchId,
    against: ContentHash,
  ) => Effect.Effect<Option.Option<GraphVersion>, GraphError | GraphMoved>
  /** The triples of a version as sorted lines, each once. */
  readonly lines: (version: GraphVersion) => Stream.Stream<string, StorageError | ArtifactDamaged>
  /**
   * The number of triples of a version. Contributions may state the same triple, so it may be less than their sum. Where `recordTriples`
   * was not called for the version, its lines are counted.
   */
  readonly countTriples: (version: GraphVersion) => Effect.Effect<number, StorageError | ArtifactDamaged>
  /** Stores the number of triples of a version for `countTriples`. */
  readonly recordTriples: (version: GraphVersion, triples: number) => Effect.Effect<void, StorageError>
  /** The documents that a version shows, by id. The contribution of the batch `without` counts as absent. */
  readonly documents: (
    version: GraphVersion,
    options?: { readonly without?: BatchId },
  ) => Effect.Effect<ReadonlyMap<string, ShownDocument>, GraphError>
  /** The addresses of the files that any version of the graph names. */
  readonly files: (namespace: Namespace) => Effect.Effect<ReadonlySet<string>, GraphError>
  /** Whether the graph has changed since a contribution to it was validated, by anything but that contribution. */
  readonly hasChangedSince: (version: GraphVersion, contribution: Contribution) => Effect.Effect<boolean, GraphError>
  /** The sorted lines that a version would have without the contribution of a batch and without the given documents. */
  readonly linesBeside: (version: GraphVersion, batch: BatchId, documents: ReadonlySet<string>) => Stream.Stream<string, GraphError>
}

export class CanonicalGraph extends Context.Service<CanonicalGraph, CanonicalGraphService>()("@detent/knowledge/CanonicalGraph") {}

export interface CanonicalGraphOptions {
  /** Where the IRIs of entities begin; the namespace follows. Default: `urn:detent:graph:`. */
  readonly iriBase?: string | undefined
}

export const make = (
  folder: StorageFolder,
  { iriBase = "urn:detent:graph:" }: CanonicalGraphOptions = {},
): Effect.Effect<CanonicalGraphService, never, Storage> =>
  Effect.map(Storage, (storage) => {
    const pointerOf = (namespace: Namespace) => blobIn(folder, pathsOfNamespace(namespace).pointer)

    const read = (namespace: Namespace): Effect.Effect<Option.Option<readonly [GraphVersion, Blob]>, GraphError> =>
      storage.get(pointerOf(namespace)).pipe(
        Effect.flatMap((blob) => Effect.map(decode(blob), (version) => Option.some([version, blob] as const))),
        Effect.catchTag("BlobNotFound", () => Effect.succeed(Option.none())),
      )

    /** Optimistic concurrency: of two concurrent swaps one is refused, reads the other's version, and calls `change` again. */
    const swap = <E extends { readonly _tag: string } = never>(
      namespace: Namespace,
      change: (before: Option.Option<GraphVersion>, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<Contribution> | undefined, E>,
    ): Effect.Effect<Option.Option<GraphVersion>, GraphError | E> =>
      Effect.gen(function* () {
        const found = yield* read(namespace)
        const before = Option.map(found, ([version]) => version)
        const changed = yield* change(before, yield* DateTime.now)
        if (changed === undefined) return before
        const next = versionOf(namespace, before, yield* arranged(namespace, changed))
        const text = yield* Effect.orDie(Schema.encodeEffect(GraphVersionJson)(next))
        // The version is written before the pointer, so the version that the pointer names always exists.
        yield* keep(blobIn(folder, pathOfVersion(namespace, next.version)), text)
        const condition = Option.match(found, { onNone: () => ifAbsent, onSome: ([, blob]) => ifGeneration(blob.generation) })
        yield* storage.set(pointerOf(namespace), text, condition)
        return Option.some(next)
      }).pipe(Effect.retry({ while: isPreconditionFailed, schedule: Schedule.jittered(Schedule.spaced("20 millis")), times: 500 }))

    const keep = (uri: StorageUri, text: string) =>
      Effect.catchTag(Effect.asVoid(storage.set(uri, text, ifAbsent)), "PreconditionFailed", () => Effect.void)

    const recordTriples = ({ namespace, version }: GraphVersion, triples: number) =>
      keep(blobIn(folder, pathOfCount(namespace, version)), String(triples))

    const countTriples = (version: GraphVersion): Effect.Effect<number, StorageError | ArtifactDamaged> => {
      const shown = version.contributions.map(shownOf)
      if (shown.length < 2) return Effect.succeed(shown[0]?.triples ?? 0)
      return storage.get(blobIn(folder, pathOfCount(version.namespace, version.version))).pipe(
        Effect.map(({ bytes }) => Number(new TextDecoder().decode(bytes))),
        Effect.catchTag("BlobNotFound", () => Stream.runCount(mergedLines(storage, shown))),
      )
    }

    /**
     * Each contribution with its visible lines. A contribution that is shown completely stays as it is; files of visible lines
     * that an earlier version wrote are reused.
     */
    const arranged = (namespace: Namespace, contributions: ReadonlyArray<Contribution>) =>
      Effect.gen(function* () {
        // Earlier releases recorded no documents, so no batch could replace those of another.
        if (contributions.every(({ documents }) => documents === undefined)) return contributions
        const noted = yield* Effect.forEach(contributions, (one) => noting(one))
        const hidden = hiddenDocuments(noted.map(([, documents]) => documents))
        return yield* Effect.forEach(noted, ([{ shown, ...one }, { documents }], index) =>
          Effect.gen(function* () {
            const gone = documents.flatMap(({ documentId }) => (hidden[index]?.has(documentId) === true ? [documentId] : []))
            if (gone.length === 0) return one
            const uri = blobIn(folder, pathOfPart(namespace, contentHashOf(JSON.stringify([one.hash, gone.toSorted()]))))
            if (shown?.uri === uri) return { ...one, shown }
            const remaining = withoutDocuments(storedLines(storage, one), new Set(gone))
            return { ...one, shown: yield* Effect.provideService(writeLines(uri, remaining), Storage, storage) }
          }),
        )
      })

    /** A contribution with its documents. Where they are not recorded, they are read from its lines and stored. */
    const noting = (one: Contribution): Effect.Effect<readonly [Contribution, BatchDocuments], GraphError> =>
      Effect.gen(function* () {
        if (one.documents !== undefined) return [one, yield* readDocuments(one.documents)] as const
        const known = yield* knownDocuments(storage, folder, one)
        return [{ ...one, documents: yield* writeDocuments(storage, folder, one.batchId, known) }, known] as const
      })

    const readDocuments = ({ uri, hash }: { readonly uri: StorageUri; readonly hash: ContentHash }) =>
      Effect.gen(function* () {
        const blob = yield* storage.get(uri)
        if (blob.hash !== hash) return yield* new ArtifactDamaged({ path: uri, expected: hash, actual: blob.hash })
        return yield* Effect.mapError(
          decodeDocuments(new TextDecoder().decode(blob.bytes)),
          ({ message }) => new GraphVersionDamaged({ uri, problem: message }),
        )
      })

    /** Like `noting`, but stores nothing. */
    const documentsOf = (one: Contribution) =>
      one.documents === undefined ? knownDocuments(storage, folder, one) : readDocuments(one.documents)

    const isIn = (version: Option.Option<GraphVersion>, contribution: NewContribution): boolean =>
      Option.exists(version, ({ contributions }) =>
        contributions.some(
          ({ batchId, hash, documents }) =>
            batchId === contribution.batchId && hash === contribution.hash && documents?.hash === contribution.documents?.hash,
        ),
      )

    const contribute = <E extends { readonly _tag: string }>(
      namespace: Namespace,
      contribution: NewContribution,
      check: (before: Option.Option<GraphVersion>) => Effect.Effect<void, E>,
    ) =>
      swap(namespace, (before, ingestedAt) =>
        Effect.gen(function* () {
          if (isIn(before, contribution)) return undefined
          yield* check(before)
          const others = Option.match(before, { onNone: () => [], onSome: ({ contributions }) => contributions })
          return [...others.filter(({ batchId }) => batchId !== contribution.batchId), { ...contribution, ingestedAt }]
        }),
      ).pipe(Effect.flatMap((version) => Effect.orDie(Effect.fromOption(version))))

    const withdraw = <E extends { readonly _tag: string }>(
      namespace: Namespace,
      batch: BatchId,
      check: (before: Option.Option<GraphVersion>) => Effect.Effect<void, E>,
    ) =>
      Effect.gen(function* () {
        let had = false
        const version = yield* swap(namespace, (before) =>
          Effect.gen(function* () {
            const contributions = Option.match(before, { onNone: () => [], onSome: (one) => one.contributions })
            const rest = contributions.filter(({ batchId }) => batchId !== batch)
            had = rest.length < contributions.length
            if (!had) return undefined
            yield* check(before)
            return rest
          }),
        )
        return had ? version : Option.none()
      })

    /** Fails unless the graph is at version `against`. A graph without any version equals one whose batches are all withdrawn. */
    const isAt = (namespace: Namespace, before: Option.Option<GraphVersion>, against: ContentHash | undefined) => {
      const version = Option.getOrUndefined(before)?.version
      return version === against ? Effect.void : Effect.fail(new GraphMoved({ namespace, version: version ?? versionHash([]) }))
    }

    const versionAt = (namespace: Namespace, version: ContentHash) =>
      storage.get(blobIn(folder, pathOfVersion(namespace, version))).pipe(
        Effect.flatMap(decode),
        Effect.catchTag("BlobNotFound", () => Effect.fail(new GraphVersionUnknown({ namespace, version }))),
      )

    return {
      entityBase: (namespace) => `${iriBase}${namespace}/`,
      current: (namespace) => Effect.map(read(namespace), (found) => Option.map(found, ([version]) => version)),
      version: versionAt,
      contribute: (namespace, contribution) => contribute(namespace, contribution, () => Effect.void),
      contributeAt: (namespace, contribution, against) =>
        contribute(namespace, contribution, (before) => isAt(namespace, before, Option.getOrUndefined(against))),
      withdraw: (namespace, batch) => withdraw(namespace, batch, () => Effect.void),
      withdrawAt: (namespace, batch, against) => withdraw(namespace, batch, (before) => isAt(namespace, before, against)),
      lines: (version) => mergedLines(storage, version.contributions.map(shownOf)),
      countTriples,
      recordTriples,
      documents: ({ contributions }, { without } = {}) =>
        Effect.gen(function* () {
          const others = contributions.filter(({ batchId }) => batchId !== without)
          const noted = yield* Effect.forEach(others, documentsOf)
          const hidden = hiddenDocuments(noted)
          return new Map(
            noted.flatMap(({ documents }, index) =>
              documents.flatMap((document): ReadonlyArray<readonly [string, ShownDocument]> => {
                const batchId = others[index]?.batchId
                if (batchId === undefined || hidden[index]?.has(document.documentId) === true) return []
                return [[document.documentId, { ...document, batchId }]]
              }),
            ),
          )
        }),
      files: (namespace) =>
        storage.list(folderIn(folder, `canonical/${namespace}/versions`)).pipe(
          Stream.mapEffect(({ uri }) => Effect.flatMap(storage.get(uri), decode), { concurrency: 8 }),
          Stream.runFold(
            () => new Set<string>(),
            (files, { contributions }) => {
              for (const uri of contributions.flatMap(filesOf)) files.add(uri)
              return files
            },
          ),
        ),
      hasChangedSince: ({ namespace, contributions }, one) =>
        Effect.gen(function* () {
          if (one.validated === undefined) return true
          const { against } = one.validated
          const before = against === null ? [] : (yield* versionAt(namespace, against)).contributions
          const isOther = ({ batchId }: Contribution) => batchId !== one.batchId
          return versionHash(before.filter(isOther)) !== versionHash(contributions.filter(isOther))
        }).pipe(Effect.catchTag("GraphVersionUnknown", () => Effect.succeed(true))),
      linesBeside: ({ contributions }, batch, replaced) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const others = contributions.filter(({ batchId }) => batchId !== batch)
            const isPlain = replaced.size === 0 && others.length === contributions.length
            if (isPlain) return mergedLines(storage, contributions.map(shownOf))
            const noted = yield* Effect.forEach(others, documentsOf)
            const hidden = hiddenDocuments(noted)
            const remaining = others.map((one, index) => {
              const gone = (noted[index]?.documents ?? []).flatMap(({ documentId }) =>
                replaced.has(documentId) || hidden[index]?.has(documentId) === true ? [documentId] : [],
              )
              return withoutDocuments(storedLines(storage, one), new Set(gone))
            })
            return mergedStreams(remaining)
          }),
        ),
    } satisfies CanonicalGraphService
  })

/** Stores graphs below a folder of the storage. */
export const layer = (folder: StorageFolder, options?: CanonicalGraphOptions): Layer.Layer<CanonicalGraph, never, Storage> =>
  Layer.effect(CanonicalGraph, make(folder, options))

/** The files that a contribution names. A new field must be read here: the compiler refuses a remaining one. */
const filesOf = (contribution: Contribution): ReadonlyArray<StorageUri> => {
  const { batchId: _batch, hash: _hash, triples: _triples, ingestedAt: _at, validated: _rules, ...named } = contribution
  const { uri, documents, held, shown, ...rest } = named
  rest satisfies Readonly<Record<string, never>>
  return [uri, ...[documents, held, shown].flatMap((file) => (file === undefined ? [] : [file.uri]))]
}

const shownOf = ({ shown, ...own }: Contribution) => shown ?? own

/** For each contribution, its documents that another contribution replaces or withdraws: the latest one to name a document decides. */
const hiddenDocuments = (all: ReadonlyArray<BatchDocuments>): ReadonlyArray<ReadonlySet<string>> => {
  const latest = new Map<string, { readonly at: number; readonly index: number }>()
  const note = (id: string, at: number, index: number) => {
    const before = latest.get(id)
    if (before === undefined || before.at <= at) latest.set(id, { at, index })
  }
  for (const [index, { documents, withdrawn }] of all.entries()) {
    for (const { documentId, at } of documents) note(documentId, at, index)
    for (const { documentId, at } of withdrawn) note(documentId, at, index)
  }
  return all.map(
    ({ documents }, index) => new Set(documents.flatMap(({ documentId }) => (latest.get(documentId)?.index === index ? [] : [documentId]))),
  )
}

const versionHash = (contributions: ReadonlyArray<Contribution>): ContentHash =>
  contentHashOf(
    JSON.stringify(
      contributions.map(({ batchId, hash, documents }) => (documents === undefined ? [batchId, hash] : [batchId, hash, documents.hash])),
    ),
  )

const versionOf = (
  namespace: Namespace,
  before: Option.Option<GraphVersion>,
  contributions: ReadonlyArray<Contribution>,
): GraphVersion => ({
  namespace,
  version: versionHash(contributions),
  previous: Option.map(before, ({ version }) => version),
  contributions,
})

const decode = (blob: Blob): Effect.Effect<GraphVersion, GraphVersionDamaged> =>
  Effect.mapError(
    Schema.decodeEffect(GraphVersionJson)(new TextDecoder().decode(blob.bytes)),
    (error) => new GraphVersionDamaged({ uri: blob.uri, problem: error.message }),
  )

const isPreconditionFailed = ({ _tag }: { readonly _tag: string }): boolean => _tag === "PreconditionFailed"
