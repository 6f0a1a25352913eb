/**
 * The oracle for async code: what would other code make of the instances that are stored? Opens the workspace to read, and writes nothing.
 *
 * ```ts
 * const reports = await checkDeploy({ data: ".detent", against: "../new", ended: {}, whatIf: true })
 * ```
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { findConfig } from "./Config.ts"
import { check, type MachineReport, type OracleProgress, type OracleRequest } from "./operations/oracle.ts"
import { optional } from "./optional.ts"
import { Workspace } from "./Workspace.ts"

export type { MachineReport, OracleProgress } from "./operations/oracle.ts"

export interface CheckDeployOptions extends Omit<OracleRequest, "onProgress"> {
  /** The folder of the code that the instances run with. Default: the working folder. */
  readonly project?: string
  /** Default: `.detent`. */
  readonly data?: string
  /** `sqlite:PATH` or `postgres://…`. Default: DETENT_DATABASE_URL, then `detent.db` in the data folder. */
  readonly database?: string
  /** Ends the check and its worker processes. The promise then rejects. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: OracleProgress) => void
}

export const checkDeploy = ({
  project = ".",
  data,
  database,
  signal,
  onProgress,
  ...request
}: CheckDeployOptions = {}): Promise<ReadonlyArray<MachineReport>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const config = Option.getOrUndefined(yield* findConfig(project))
      const report = (progress: OracleProgress) => Effect.sync(() => onProgress?.(progress))
      const judging = check({ ...request, onProgress: report })
      return yield* Effect.provide(judging, Workspace.open({ role: "observe", config, ...optional({ data, database }) }))
    }),
    optional({ signal }),
  )
