/** The report on stored commands: counts by status, results by kind, and the commands of each instance. */
import type { PersistenceFailed } from "@detent/machine"
import type { CommandReport } from "@detent/machine/diagram"
import { type CommandFilter, type CommandStatus, Commands, type StoredCommand } from "@detent/store"
import * as Effect from "effect/Effect"

export interface CommandReportOptions extends CommandFilter {
  readonly title?: string
  /** How many commands are listed at most, oldest first. Default: 1,000. The counts are of all. */
  readonly limit?: number
}

const pageSize = 500

/** Returns Markdown. */
export const commandReport = (options: CommandReportOptions = {}): Effect.Effect<string, PersistenceFailed, Commands> =>
  Effect.gen(function* () {
    const service = yield* Commands
    const { title, limit = 1000, ...filter } = options
    const commands: Array<StoredCommand> = []
    let after: number | undefined = 0
    while (after !== undefined && commands.length < limit) {
      const page: { readonly commands: ReadonlyArray<StoredCommand>; readonly next: number | undefined } = yield* service.list(
        filter,
        Math.min(pageSize, limit - commands.length),
        after,
      )
      commands.push(...page.commands)
      after = page.next
    }
    const isAll = Object.keys(filter).length === 0
    // Loaded on demand: programs that only run machines do not need it.
    const { CommandReport } = yield* Effect.promise(() => import("@detent/machine/diagram"))
    return CommandReport.report({
      title,
      commands: commands.map(reported),
      // The store counts all commands; with a filter, the report counts only the listed ones.
      counts: isAll ? yield* totals(service.counts) : undefined,
    })
  })

/** Converts a stored command for reports and diagrams. */
export const reported = ({ key, queue, instance, slot, status, attempts, problem }: StoredCommand): CommandReport.CommandRecord => ({
  id: key,
  instance: instance === undefined ? queue : `${instance.machine} ${instance.id}`,
  name: slot,
  status,
  attempts,
  error: problem,
})

type Counts = ReadonlyArray<{ readonly status: CommandStatus; readonly count: number }>

const totals = <E>(counts: Effect.Effect<Counts, E>): Effect.Effect<CommandReport.CommandCounts, E> =>
  Effect.map(counts, (rows) => {
    const sums: { [status in CommandStatus]?: number } = {}
    for (const { status, count } of rows) sums[status] = (sums[status] ?? 0) + count
    return sums
  })
