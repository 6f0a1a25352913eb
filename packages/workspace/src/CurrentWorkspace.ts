/** What a process has opened: where its data is, and what it may do there. */
import * as Context from "effect/Context"
import type { Config } from "./Config.ts"
import type { Database } from "./Database.ts"

/**
 * `observe` reads only, also while another process works. `work` resumes all unfinished work; when the program ends normally, it also
 * executes the commands that are due, at most for `engine.worker.drainTimeout`.
 */
export type Role = "observe" | "work"

/** Describes the opened workspace. */
export interface CurrentWorkspaceService {
  /** An absolute path, or the address of a folder of a bucket. */
  readonly data: string
  readonly database: Database["_tag"]
  /** Where the database is. Its address may contain a password. */
  readonly address: Database
  readonly role: Role
  readonly config: Config | undefined
  /** The node id of this process; undefined where it only observes. */
  readonly node: string | undefined
}

export class CurrentWorkspace extends Context.Service<CurrentWorkspace, CurrentWorkspaceService>()("@detent/workspace/CurrentWorkspace") {}
