/**
 * Graphs in a bucket that are newer than a restored database: batches that are missing or unfinished in the database have added to
 * them. A restore writes no objects, so the pointers of graphs stay unchanged until the user brings back earlier versions.
 */

import { folderIn, Storage } from "@detent/blobs/Storage"
import * as StorageLocation from "@detent/blobs/StorageLocation"
import { CanonicalGraph, Namespace } from "@detent/knowledge"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export interface LaterGraph {
  readonly namespace: string
  /** The address of its pointer, `current.json`. */
  readonly pointer: string
  /** The batches that added to it after the backup. */
  readonly batches: ReadonlyArray<string>
}

/**
 * The graphs that batches have added to since a time. Batches that the database does not have do not prove it: retention removes
 * batches whose facts stay in the graph.
 */
export const laterGraphs = (data: string, since: string) =>
  Effect.gen(function* () {
    const storage = yield* StorageLocation.make({ location: data })
    const root = StorageLocation.folderAt(data)
    const graphs = yield* Effect.provideService(CanonicalGraph.make(root), Storage, storage)
    const folder = folderIn(root, "canonical")
    const names = Stream.map(storage.list(folder), ({ uri }) => /^([^/]+)\/current\.json$/.exec(uri.slice(folder.length))?.[1])
    const time = DateTime.makeUnsafe(since).epochMilliseconds
    const found: Array<LaterGraph> = []
    for (const namespace of (yield* Stream.runCollect(names)).filter(Schema.is(Namespace))) {
      const version = Option.getOrUndefined(yield* graphs.current(namespace))
      const later = version?.contributions.filter(({ ingestedAt }) => ingestedAt.epochMilliseconds > time) ?? []
      if (later.length === 0) continue
      found.push({ namespace, pointer: `${folder}${namespace}/current.json`, batches: later.map(({ batchId }) => batchId) })
    }
    return found
  }).pipe(Effect.scoped)

/** Logs a warning with the next step for each graph. The restore of the database succeeds also where the bucket cannot be read. */
export const warnOfLaterGraphs = (data: string, createdAt: string): Effect.Effect<void> =>
  laterGraphs(data, createdAt).pipe(
    Effect.flatMap((graphs) =>
      Effect.forEach(
        graphs,
        ({ namespace, pointer, batches }) =>
          Effect.logWarning(
            `the graph ${namespace} is later than the backup: ${named(batches)} after ${createdAt}. Before you start processes, bring back the ` +
              `version of ${pointer} of that time, or remove it if there was none: \`${versionsOf(pointer)}\` lists the versions`,
          ),
        { discard: true },
      ),
    ),
    Effect.catch((error) =>
      Effect.logWarning(
        `the graphs in ${data} were not compared with the backup: ${error.message}. Before you start processes, bring back the versions of ` +
          `canonical/NAME/current.json of ${createdAt}`,
      ),
    ),
  )

const named = (batches: ReadonlyArray<string>): string =>
  batches.length > 3
    ? `${batches.slice(0, 3).join(", ")} and ${batches.length - 3} more batches were added`
    : `${batches.join(", ")} ${batches.length === 1 ? "was" : "were"} added`

const versionsOf = (pointer: string): string => {
  const [, scheme, bucket = "", key = ""] = /^(\w+):\/\/([^/]+)\/(.*)$/.exec(pointer) ?? []
  return scheme === "s3"
    ? `aws s3api list-object-versions --bucket ${bucket} --prefix ${key}`
    : `gcloud storage ls --all-versions --long ${pointer}`
}
