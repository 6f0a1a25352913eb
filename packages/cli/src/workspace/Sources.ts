/**
 * The folders whose documents a workspace may read. Starting a batch from a folder allows that folder. The list is stored with the
 * data, so that a process that resumes the batch may read the folder too, also on another machine where the data is in a bucket.
 * Ontology, shapes and examples are copied when a batch starts: their files are in the list until it has started.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import type { StorageError } from "@detent/blobs/Storage"
import { privateFile } from "@detent/store/internal"
import { outcomeOf } from "@detent/workspace/ErrorKind"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { messageOf, ServerRefused, WrongUsage } from "../Failure.ts"
import { madeFolder } from "./Folder.ts"

const SourcesJson = Schema.fromJsonString(Schema.Struct({ readable: Schema.Array(Schema.String) }))

/** Loaded only where the data is in a bucket. */
const loadShared = Effect.promise(() => import("@detent/workspace/SharedSources"))

const fileOf = (data: string) => join(resolve(data), "sources.json")

/** The allowed folders that still exist: a removed folder must not prevent opening the workspace. */
export const knownSources = (data: string): Effect.Effect<ReadonlyArray<string>, WrongUsage | StorageError> =>
  Effect.gen(function* () {
    if (isBucketLocation(data)) return yield* (yield* loadShared).sharedSources(data)
    const text = yield* Effect.sync(() => textOf(fileOf(data)))
    if (text === undefined) return []
    const { readable } = yield* Effect.mapError(
      Schema.decodeEffect(SourcesJson)(text),
      () => new WrongUsage({ problem: `${fileOf(data)} is damaged`, nextStep: "remove it; `detent batch run` allows its folders again" }),
    )
    return readable.filter((one) => isBucketLocation(one) || statSync(one, { throwIfNoEntry: false }) !== undefined)
  })

/** The current list, for a running process. A list that is being replaced or is damaged allows nothing. */
export const sourcesNow = (data: string): ReadonlyArray<string> | Promise<ReadonlyArray<string>> => {
  if (isBucketLocation(data))
    return Effect.runPromise(
      Effect.orElseSucceed(
        Effect.flatMap(loadShared, (shared) => shared.sharedSources(data)),
        () => [],
      ),
    )
  return Option.match(Schema.decodeUnknownOption(SourcesJson)(textOf(fileOf(data))), {
    onNone: () => [],
    onSome: ({ readable }) => readable,
  })
}

/** The sources of a batch. */
export interface ReadBySource {
  /** The folder of its documents. */
  readonly folder: string
  /** Files that are copied when the batch starts. */
  readonly files: ReadonlyArray<string>
}

/**
 * Starts a batch, and allows its folder. Other processes may read its documents as soon as it has started, so the folder is added to
 * the list before the start; a refused start restores the list. A start with an unknown outcome, such as a lost answer, leaves the
 * folder allowed.
 */
export const allowedSource = <A, E, R>(data: string, { folder, files }: ReadBySource, start: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const known = yield* knownSources(data)
    const added = [...new Set([folder, ...files])].filter((one) => !known.includes(one))
    if (added.length === 0) return yield* start
    const end = (exit: Exit.Exit<A, E>) => {
      const isKept = Exit.isSuccess(exit) || !isRefusal(exit.cause)
      return change(data, { added: isKept ? [folder] : [], removed: added.filter((one) => !isKept || one !== folder) })
    }
    yield* change(data, { added, removed: [] })
    return yield* Effect.onExit(start, end)
  })

/** Whether the start was refused, so that certainly no batch was started. */
const isRefusal = <E>(cause: Cause.Cause<E>): boolean => {
  if (!Cause.hasFails(cause)) return false
  const error = Cause.squash(cause)
  const tag = typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : ""
  return error instanceof ServerRefused || !["unavailable", "failed"].includes(outcomeOf(tag).kind)
}

interface Change {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

const changedList = (known: ReadonlyArray<string>, { added, removed }: Change): ReadonlyArray<string> => [
  ...new Set([...known.filter((one) => !removed.includes(one)), ...added]),
]

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((location) => other.includes(location))

const change = (data: string, asked: Change): Effect.Effect<void, WrongUsage | StorageError> =>
  Effect.gen(function* () {
    if (isBucketLocation(data)) return yield* changeShared(data, asked)
    const known = yield* knownSources(data)
    const next = changedList(known, asked)
    if (isSame(known, next)) return
    const text = Schema.encodeSync(SourcesJson)({ readable: next })
    yield* madeFolder(data)
    yield* Effect.try({
      try: () => replaceFile(data, `${text}\n`),
      catch: (cause) =>
        new WrongUsage({ problem: `${data} cannot be written to: ${messageOf(cause)}`, nextStep: "choose another folder with --data" }),
    })
  })

/** Changes the list in a bucket. Local folders are listed under the name of their host, and are not removed. */
const changeShared = (data: string, { added, removed }: Change): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    const { shareSource, unshareSources } = yield* loadShared
    for (const location of added) yield* shareSource(data, location)
    if (removed.some(isBucketLocation)) yield* unshareSources(data, removed)
  })

/** Replaces the file atomically: a concurrent reader finds the old list or the new list. */
const replaceFile = (data: string, text: string): void => {
  const temporary = `${fileOf(data)}.${process.pid}`
  writeFileSync(temporary, text, { mode: privateFile })
  renameSync(temporary, fileOf(data))
}

const textOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined
    throw error
  }
}
