/** Names the files of a folder that a batch does not read, since the user may expect their facts in the graph. */
import { existsSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { formatOf } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import { counted } from "../output/Count.ts"
import type { SourceInput } from "./BatchSource.ts"

/** How many files are named. */
const namedAtMost = 5

/** Undefined where every file is read, and for a manifest or a bucket. Hidden files are not named. */
export const leftOutText = (
  input: Pick<SourceInput, "source" | "ontology" | "shapes" | "examples" | "mapping">,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const { source } = input
    if (isBucketLocation(source) || existsSync(join(source, "manifest.json"))) return undefined
    const used = new Set(
      [input.ontology, input.shapes, input.examples, input.mapping].flatMap((file) => (file === undefined ? [] : [resolve(file)])),
    )
    const leftOut: Array<string> = []
    for (const entry of entriesOf(source)) {
      const path = join(entry.parentPath, entry.name)
      const name = path.slice(join(source, "/").length)
      if (/(^|[/\\])\./.test(name) || used.has(resolve(path)) || entry.isDirectory()) continue
      if (entry.isSymbolicLink()) leftOut.push(`${name} (a link)`)
      else if (!(yield* isKnown(name))) leftOut.push(name)
    }
    if (leftOut.length === 0) return undefined
    const more = leftOut.length > namedAtMost ? ` and ${leftOut.length - namedAtMost} more` : ""
    const names = leftOut.toSorted().slice(0, namedAtMost).join(", ")
    return `${counted(leftOut.length, "file")} of ${source} cannot be read and ${leftOut.length === 1 ? "is" : "are"} left out: ${names}${more}`
  })

/** The source may be a file, which is a manifest. */
const entriesOf = (source: string) => {
  try {
    return readdirSync(source, { recursive: true, withFileTypes: true })
  } catch {
    // The batch reports a folder that cannot be read.
    return []
  }
}

const isKnown = (name: string): Effect.Effect<boolean> =>
  Effect.match(formatOf({ name }), { onFailure: () => false, onSuccess: () => true })
