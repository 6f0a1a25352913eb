/** Files that are received, read once and removed: previews, plans and corrections. A killed process leaves them. */
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export const onceFolder = (folder: string): string => join(folder, "once")

/** Far longer than such a file is read. Processes may share the folder. */
const leftAfterMillis = 24 * 3_600_000

/** Removes what processes that were killed have left. What cannot be removed is logged. */
export const removeLeftovers = (folder: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.tryPromise(async () => {
      const place = onceFolder(folder)
      for (const name of await namesIn(place)) {
        const path = join(place, name)
        if (now - (await stat(path)).mtimeMs > leftAfterMillis) await rm(path, { force: true })
      }
    })
  }).pipe(Effect.catch((error) => Effect.logWarning(`files of an earlier process stay in ${onceFolder(folder)}`, error)))

const namesIn = async (place: string): Promise<ReadonlyArray<string>> => {
  try {
    return await readdir(place)
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
    throw cause
  }
}
