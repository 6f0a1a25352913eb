/** Writes a batch in SQL: refuses malformed commits, and lets one bad commit fail alone. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Commit, CommitOutcome } from "../contract/Commit.ts"
import { checkCommits } from "../contract/CommitCheck.ts"
import { failingTyped, isContentProblem, isUndone, persistenceFailed, subjectOf } from "./StoreFailure.ts"

/** Writes well-formed commits of distinct instances; outcomes in the order given. */
export type WriteBatch = (commits: ReadonlyArray<Commit>) => Effect.Effect<ReadonlyArray<CommitOutcome>, SqlError>

/** How often a batch is tried that the database rolled back because of a deadlock with another one. */
const attemptLimit = 5

export const commitBatch = (
  write: WriteBatch,
  commits: ReadonlyArray<Commit>,
  maxBodyBytes: number,
): Effect.Effect<ReadonlyArray<CommitOutcome>, PersistenceFailed> =>
  Effect.suspend(() => {
    const refused = checkCommits(commits, maxBodyBytes)
    if (refused.size === 0) return attempt(write, commits, 1)
    const wellFormed = commits.filter((_, index) => !refused.has(index))
    const written = wellFormed.length === 0 ? Effect.succeed([]) : attempt(write, wellFormed, 1)
    return Effect.map(written, (outcomes) => {
      const remaining = outcomes.values()
      return commits.flatMap((_, index) => refused.get(index) ?? remaining.next().value ?? [])
    })
  })

const attempt = (
  write: WriteBatch,
  commits: ReadonlyArray<Commit>,
  attempts: number,
): Effect.Effect<ReadonlyArray<CommitOutcome>, PersistenceFailed> =>
  Effect.catch(failingTyped(write(commits)), (error) => {
    const failure = persistenceFailed("commit", subjectOf(commits), error)
    if (isUndone(error) && attempts < attemptLimit) return attempt(write, commits, attempts + 1)
    if (!isContentProblem(error)) return Effect.fail(failure)
    if (commits.length === 1) return Effect.succeed([failure])
    return Effect.map(
      Effect.forEach(commits, (commit) => attempt(write, [commit], 1)),
      (outcomes) => outcomes.flat(),
    )
  })
