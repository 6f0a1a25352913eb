/** The ids that senders gave their events, and the answer when one of them is journaled already. */
import type { Commit, CommitOutcome } from "../contract/Commit.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"

export const dedupeIdsOf = ({ events }: Commit): ReadonlyArray<string> => events.flatMap(({ dedupeId }) => dedupeId ?? [])

export const duplicateOf = (row: Row): CommitOutcome => ({
  _tag: "Duplicate",
  dedupeId: textOf(row, "dedupe_id"),
  sequence: wholeOf(row, "sequence"),
})
