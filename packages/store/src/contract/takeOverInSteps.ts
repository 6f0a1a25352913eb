/** Takes over a page of instances with three operations, for stores in the process itself: a round trip to them costs nothing. */
import * as Effect from "effect/Effect"
import type { JournalService } from "./Journal.ts"

export const takeOverInSteps =
  ({ page, changeOwner, openAll }: Pick<JournalService, "page" | "changeOwner" | "openAll">): JournalService["takeOver"] =>
  (filter, to, limit, after) =>
    Effect.gen(function* () {
      const records = yield* page(filter, limit, after)
      const changed = yield* changeOwner(records, filter.owner ?? undefined, to)
      return { opened: yield* openAll(changed), next: records.length < limit ? undefined : records.at(-1)?.id }
    })
