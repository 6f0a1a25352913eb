/**
 * The files of commands, in the order of the help. The file of a command is loaded when the command runs, so that no command waits for
 * the imports of another.
 */
import type { Noun, RunnableCommand } from "./line/Command.ts"

interface CommandFile {
  /** The noun of the commands. Commands of one word have none. */
  readonly noun?: Noun
  readonly commands: ReadonlyArray<RunnableCommand>
}

export const commandFiles: Readonly<Record<string, () => Promise<CommandFile>>> = {
  serving: () => import("./commands/serving.ts"),
  worker: () => import("./commands/worker.ts"),
  activity: () => import("./commands/activity.ts"),
  init: () => import("./commands/init.ts"),
  mcp: () => import("./commands/mcp.ts"),
  completions: () => import("./commands/completions.ts"),
  batch: () => import("./commands/batch.ts"),
  upload: () => import("./commands/upload.ts"),
  machine: () => import("./commands/machine.ts"),
  instance: () => import("./commands/instance.ts"),
  execution: () => import("./commands/execution.ts"),
  command: () => import("./commands/command.ts"),
  queue: () => import("./commands/queue.ts"),
  timer: () => import("./commands/timer.ts"),
  graph: () => import("./commands/graph.ts"),
  data: () => import("./commands/data.ts"),
  cluster: () => import("./commands/cluster.ts"),
}

/** The table that `--help` and completions read instead of the files, so that they do not load Effect. */
export const makeTable = async () => {
  const files = await Promise.all(
    Object.entries(commandFiles).map(async ([module, load]) => {
      const { noun, commands } = await load()
      return { nouns: noun === undefined ? [] : [noun], commands: commands.map(({ declared }) => ({ ...declared, module })) }
    }),
  )
  return { nouns: files.flatMap((file) => file.nouns), commands: files.flatMap((file) => file.commands) }
}
