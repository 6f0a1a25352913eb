/** The journal that the group commit writes to: measures every flush, and records a span for it where a tracer is installed. */
import type { Environment } from "@detent/machine/internal"
import type { Commit, JournalService } from "@detent/store"
import * as Effect from "effect/Effect"
import { flushMillis, record, spanned } from "./Telemetry.ts"

export const observed = (journal: JournalService, environment: Environment, isTraced: boolean): JournalService => {
  const timed: JournalService["commit"] = (commits) =>
    Effect.suspend(() => {
      const began = environment.clock.currentTimeMillisUnsafe()
      return Effect.map(journal.commit(commits), (outcomes) => {
        record(flushMillis, environment.clock.currentTimeMillisUnsafe() - began, environment)
        return outcomes
      })
    })
  return { ...journal, commit: isTraced ? (commits) => spanned("detent.flush", flushAttributes(commits), timed(commits)) : timed }
}

const flushAttributes = (commits: ReadonlyArray<Commit>) => ({
  "detent.commits": commits.length,
  "detent.events": commits.reduce((sum, { events }) => sum + events.length, 0),
})
