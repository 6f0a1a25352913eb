/** Which instance of an id, and which revision of its journal, a commit applies to. */
import type { Commit } from "../contract/Commit.ts"

/** The revision that a commit with a start compares. Undefined: any instance of the id, in any revision. */
export const revisionOf = ({ startedAt, revision = 0 }: Commit): number | undefined => (startedAt === undefined ? undefined : revision)
