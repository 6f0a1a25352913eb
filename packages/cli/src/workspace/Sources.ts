/**
 * The folders whose documents a workspace may read. Who starts a batch from a folder has allowed it; the list is kept with the data,
 * so that a process that resumes the batch may read them too, on another machine where the data is in a bucket.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/durable/BucketLocation"
import type { StorageError } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { messageOf, WrongUsage } from "../Failure.ts"
import { madeFolder } from "./Folder.ts"

const SourcesJson = Schema.fromJsonString(Schema.Struct({ readable: Schema.Array(Schema.String) }))

/** Loaded where the data is in a bucket: most commands need none of it. */
const loadShared = Effect.promise(() => import("@detent/workspace/SharedSources"))

const fileOf = (data: string) => join(resolve(data), "sources.json")

/** Those that are still there: a folder that was removed must not keep a workspace from being opened. */
export const knownSources = (data: string): Effect.Effect<ReadonlyArray<string>, WrongUsage | StorageError> =>
  Effect.gen(function* () {
    if (isBucketLocation(data)) return yield* (yield* loadShared).sharedSources(data)
    const text = yield* Effect.sync(() => textOf(fileOf(data)))
    if (text === undefined) return []
    const { readable } = yield* Effect.mapError(
      Schema.decodeEffect(SourcesJson)(text),
      () => new WrongUsage({ problem: `${fileOf(data)} is damaged`, nextStep: "remove it; `detent batch run` allows its folders again" }),
    )
    return readable.filter((folder) => isBucketLocation(folder) || statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
  })

/** The same for a process that is running. A list that is being replaced or is damaged allows nothing. */
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

export const allowSource = (data: string, folder: string): Effect.Effect<void, WrongUsage | StorageError> =>
  Effect.gen(function* () {
    const absolute = isBucketLocation(folder) ? folder : resolve(folder)
    if (isBucketLocation(data)) return yield* (yield* loadShared).shareSource(data, absolute)
    const known = yield* knownSources(data)
    if (known.includes(absolute)) return
    const text = Schema.encodeSync(SourcesJson)({ readable: [...known, absolute] })
    yield* madeFolder(data)
    yield* Effect.try({
      try: () => replaceFile(data, `${text}\n`),
      catch: (cause) =>
        new WrongUsage({ problem: `${data} cannot be written to: ${messageOf(cause)}`, nextStep: "choose another folder with --data" }),
    })
  })

/** A concurrent reader finds the old list or the new one. */
const replaceFile = (data: string, text: string): void => {
  const temporary = `${fileOf(data)}.${process.pid}`
  writeFileSync(temporary, text)
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
