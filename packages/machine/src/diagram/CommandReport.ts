/**
 * Reports on the commands instances have requested: how many are in each status, the commands of each instance, and
 * the statuses of each kind of command. The report is Markdown with a Mermaid flowchart.
 */
import type { CommandRecord, CommandStatus } from "./CommandRecord.ts"
import { statuses } from "./CommandRecord.ts"
import * as Escape from "./Escape.ts"
import { light } from "./Theme.ts"

export type { CommandRecord, CommandStatus } from "./CommandRecord.ts"

/** How many commands are in each status. A missing status counts as 0. */
export type CommandCounts = { readonly [status in CommandStatus]?: number | undefined }

export interface ReportOptions {
  readonly title?: string | undefined
  readonly commands: ReadonlyArray<CommandRecord>
  /** The counts of the whole queue, where `commands` is only part of it. Default: counted from `commands`. */
  readonly counts?: CommandCounts | undefined
}

const names: { readonly [status in CommandStatus]: string } = {
  pending: "⏳ Pending",
  processing: "🔄 Processing",
  completed: "✅ Completed",
  failed: "❌ Failed",
  handled: "☑️ Failed, handled",
  skipped: "⏭️ Skipped",
}

const groupBy = <K>(
  commands: ReadonlyArray<CommandRecord>,
  key: (command: CommandRecord) => K,
): ReadonlyMap<K, ReadonlyArray<CommandRecord>> => {
  const groups = new Map<K, Array<CommandRecord>>()
  for (const command of commands) {
    const group = groups.get(key(command))
    if (group === undefined) groups.set(key(command), [command])
    else group.push(command)
  }
  return groups
}

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("")

/** A table of the counts by status. */
export const summaryTable = (counts: CommandCounts): string => {
  const total = statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  return table(
    ["Status", "Count"],
    [
      ...statuses
        .filter((status) => status !== "handled" || counts.handled !== undefined)
        .map((status) => [names[status], String(counts[status] ?? 0)]),
      ["**Total**", `**${total}**`],
    ],
  )
}

/** The commands of each instance in a table of its own, in the order given. */
export const commandList = (commands: ReadonlyArray<CommandRecord>): string => {
  if (commands.length === 0) return "No commands.\n"
  const instances = groupBy(commands, (command) => command.instance)
  return Array.from(instances, ([instance, own]) => `### ${Escape.markdown(Escape.cut(instance))}\n\n${instanceTable(own)}`).join("\n")
}

const instanceTable = (commands: ReadonlyArray<CommandRecord>): string =>
  table(
    ["Id", "Command", "Status", "Attempts", "Error"],
    commands.map((command) => [
      Escape.markdown(Escape.cut(String(command.id))),
      Escape.markdown(Escape.cut(command.name)),
      names[command.status],
      String(command.attempts),
      command.error === undefined ? "" : Escape.markdown(Escape.cut(command.error, 80)),
    ]),
  )

const fills: { readonly [status in CommandStatus]: string } = {
  pending: "fill:#fff7d6,stroke:#8a6d00",
  processing: `fill:${light.visitedFill},stroke:${light.taken}`,
  completed: "fill:#e3f5e6,stroke:#1f7a34",
  failed: `fill:${light.stopFill},stroke:${light.stop}`,
  handled: "fill:#fff7d6,stroke:#8a6d00",
  skipped: `fill:${light.groupFill},stroke:${light.line}`,
}

/** A Mermaid flowchart from each kind of command to the statuses its commands are in, with their number. */
export const flowchart = (commands: ReadonlyArray<CommandRecord>): string => {
  const kinds = groupBy(commands, (command) => command.name)
  const present = statuses.filter((status) => commands.some((command) => command.status === status))
  const flows = Array.from(kinds.values()).flatMap((own, index) =>
    present.flatMap((status) => {
      const count = own.filter((command) => command.status === status).length
      return count === 0 ? [] : [`c${index + 1} -->|"${count}"| ${status}`]
    }),
  )
  return [
    "flowchart LR",
    ...Array.from(kinds.keys(), (name, index) => `  c${index + 1}("${Escape.mermaid(Escape.cut(name))}")`),
    ...present.map((status) => `  ${status}(["${names[status]}"])`),
    ...flows.map((flow) => `  ${flow}`),
    ...present.map((status) => `  style ${status} ${fills[status]},color:${light.text}`),
    "",
  ].join("\n")
}

/** The complete report: summary, flow and the list by instance. */
export const report = (options: ReportOptions): string => {
  const counts = options.counts ?? countsOf(options.commands)
  const flow = options.commands.length === 0 ? [] : ["## Flow", "", `\`\`\`mermaid\n${flowchart(options.commands)}\`\`\``, ""]
  return [
    `# ${Escape.markdown(Escape.cut(options.title ?? "Commands", 120))}`,
    "",
    "## Summary",
    "",
    summaryTable(counts),
    ...flow,
    "## Commands by instance",
    "",
    commandList(options.commands),
  ].join("\n")
}

const countsOf = (commands: ReadonlyArray<CommandRecord>): CommandCounts => {
  const byStatus = groupBy(commands, (command) => command.status)
  return Object.fromEntries(Array.from(byStatus, ([status, own]) => [status, own.length]))
}
