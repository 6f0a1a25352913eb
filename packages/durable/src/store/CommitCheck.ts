/** What no store can take, found before anything is written, so that one malformed commit cannot fail a whole batch. */
import { PersistenceFailed } from "@detent/machine"
import type { Commit, InstanceKey } from "./Commit.ts"

/** What separates commits that can be tried from those that cannot. `refused` is by position in the batch. */
export interface CheckedCommits {
  readonly accepted: ReadonlyArray<readonly [index: number, commit: Commit]>
  readonly refused: ReadonlyMap<number, PersistenceFailed>
}

export const checkCommits = (commits: ReadonlyArray<Commit>): CheckedCommits => {
  const accepted: Array<readonly [number, Commit]> = []
  const refused = new Map<number, PersistenceFailed>()
  // Nearly always all ids are different, and names need not be made of them.
  const areDistinct = new Set(commits.map(({ id }) => id)).size === commits.length
  const seen = new Set<string>()
  commits.forEach((commit, index) => {
    const name = areDistinct ? "" : instanceName(commit)
    const problem = seen.has(name) ? "the instance appears twice in one batch" : problemOf(commit)
    if (!areDistinct) seen.add(name)
    if (problem === undefined) accepted.push([index, commit])
    else
      refused.set(index, new PersistenceFailed({ machine: commit.machine, id: commit.id, operation: "commit", cause: new Error(problem) }))
  })
  return { accepted, refused }
}

/** One text for `(machine, id)`. The separator cannot be in a name: PostgreSQL has no such character in texts. */
export const instanceName = (key: InstanceKey): string => `${key.machine}\u0000${key.id}`

const problemOf = (commit: Commit): string | undefined => {
  if (commit.sequence < commit.expected || commit.sequence < 0) return `it would go from sequence ${commit.expected} to ${commit.sequence}`
  let previous = commit.expected
  for (const { sequence } of commit.events) {
    if (sequence <= previous || sequence > commit.sequence)
      return `event ${sequence} does not fit between ${previous} and ${commit.sequence}`
    previous = sequence
  }
  if (commit.snapshot !== undefined && commit.snapshot.sequence > commit.sequence) {
    return `snapshot ${commit.snapshot.sequence} is ahead of sequence ${commit.sequence}`
  }
  return repeated(commit.events, (event) => event.dedupeId, "dedupe id") ?? repeated(commit.setTimers, (timer) => timer.name, "timer")
}

const repeated = <A>(values: ReadonlyArray<A>, nameOf: (value: A) => string | undefined, what: string): string | undefined => {
  if (values.length < 2) return undefined
  const names = values.map(nameOf).filter((name) => name !== undefined)
  return new Set(names).size === names.length ? undefined : `it names the same ${what} twice`
}
