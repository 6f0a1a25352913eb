/** A command as diagrams and reports need it. The rows of the durable queue fit this shape. */

export type CommandStatus = "pending" | "processing" | "completed" | "failed" | "handled" | "skipped"

export interface CommandRecord {
  readonly id: string | number
  readonly instance: string
  /** The effect slot that was requested. */
  readonly name: string
  readonly status: CommandStatus
  readonly attempts: number
  readonly error?: string | undefined
}

export const statuses: ReadonlyArray<CommandStatus> = ["pending", "processing", "completed", "failed", "handled", "skipped"]
