/** Which instance of an id, and which revision of its journal, a commit applies to. */
import type { Commit } from "../store/Commit.ts"

/**
 * The start of the instance plus the revision of its journal, as commits compare them: one number instead of two. The revision only grows,
 * and an id is not used again within milliseconds. Undefined: any instance of the id.
 */
export const lifeOf = ({ startedAt, revision = 0 }: Commit): number | undefined =>
  startedAt === undefined ? undefined : startedAt + revision
