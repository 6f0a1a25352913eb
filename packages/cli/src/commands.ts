/**
 * The commands, in the order of the help, each with its file. The file is loaded when the command runs, so that no command waits for the
 * imports of another.
 */
import type { Noun, RunnableCommand } from "./line/Command.ts"

type LoadCommand = () => Promise<{ readonly default: RunnableCommand }>

interface CommandGroup {
  /** Commands without a noun are one word. */
  readonly noun?: Noun
  readonly commands: Readonly<Record<string, LoadCommand>>
}

const groups: ReadonlyArray<CommandGroup> = [
  {
    commands: {
      dev: () => import("./commands/dev.ts"),
      serve: () => import("./commands/serve.ts"),
      worker: () => import("./commands/worker.ts"),
      activity: () => import("./commands/activity.ts"),
      ask: () => import("./commands/ask.ts"),
      init: () => import("./commands/init.ts"),
      mcp: () => import("./commands/mcp.ts"),
      completions: () => import("./commands/completions.ts"),
    },
  },
  {
    noun: { name: "batch", summary: "documents to a validated knowledge graph", system: "knowledge" },
    commands: {
      run: () => import("./commands/batch/run.ts"),
      map: () => import("./commands/batch/map.ts"),
      list: () => import("./commands/batch/list.ts"),
      show: () => import("./commands/batch/show.ts"),
      artifacts: () => import("./commands/batch/artifacts.ts"),
      watch: () => import("./commands/batch/watch.ts"),
      review: () => import("./commands/batch/review.ts"),
      cancel: () => import("./commands/batch/cancel.ts"),
      retry: () => import("./commands/batch/retry.ts"),
      resume: () => import("./commands/batch/resume.ts"),
      withdraw: () => import("./commands/batch/withdraw.ts"),
    },
  },
  {
    noun: { name: "upload", summary: "files of items, of the kinds of detent.config.ts", system: "uploads" },
    commands: {
      run: () => import("./commands/upload/run.ts"),
      map: () => import("./commands/upload/map.ts"),
      mapping: () => import("./commands/upload/mapping.ts"),
      kinds: () => import("./commands/upload/kinds.ts"),
      list: () => import("./commands/upload/list.ts"),
      show: () => import("./commands/upload/show.ts"),
      watch: () => import("./commands/upload/watch.ts"),
      history: () => import("./commands/upload/history.ts"),
      retry: () => import("./commands/upload/retry.ts"),
      cancel: () => import("./commands/upload/cancel.ts"),
      failures: () => import("./commands/upload/failures.ts"),
      correct: () => import("./commands/upload/correct.ts"),
      search: () => import("./commands/upload/search.ts"),
      item: () => import("./commands/upload/item.ts"),
    },
  },
  {
    noun: { name: "machine", summary: "definitions: list, show, draw, check" },
    commands: {
      list: () => import("./commands/machine/list.ts"),
      show: () => import("./commands/machine/show.ts"),
      diagram: () => import("./commands/machine/diagram.ts"),
      check: () => import("./commands/machine/check.ts"),
    },
  },
  {
    noun: { name: "instance", summary: "durable runs of machines: show, follow, send events, repair" },
    commands: {
      list: () => import("./commands/instance/list.ts"),
      start: () => import("./commands/instance/start.ts"),
      show: () => import("./commands/instance/show.ts"),
      history: () => import("./commands/instance/history.ts"),
      watch: () => import("./commands/instance/watch.ts"),
      send: () => import("./commands/instance/send.ts"),
      ask: () => import("./commands/instance/ask.ts"),
      bulk: () => import("./commands/instance/bulk.ts"),
      fire: () => import("./commands/instance/fire.ts"),
      label: () => import("./commands/instance/label.ts"),
      repair: () => import("./commands/instance/repair.ts"),
      fork: () => import("./commands/instance/fork.ts"),
      purge: () => import("./commands/instance/purge.ts"),
    },
  },
  {
    noun: { name: "execution", summary: "executions of workflows: start, show, send events, resume, interrupt" },
    commands: {
      start: () => import("./commands/execution/start.ts"),
      list: () => import("./commands/execution/list.ts"),
      show: () => import("./commands/execution/show.ts"),
      spans: () => import("./commands/execution/spans.ts"),
      send: () => import("./commands/execution/send.ts"),
      resume: () => import("./commands/execution/resume.ts"),
      interrupt: () => import("./commands/execution/interrupt.ts"),
    },
  },
  {
    noun: { name: "command", summary: "requested effects and dead letters" },
    commands: {
      list: () => import("./commands/command/list.ts"),
      groups: () => import("./commands/command/groups.ts"),
      show: () => import("./commands/command/show.ts"),
      retry: () => import("./commands/command/retry.ts"),
      skip: () => import("./commands/command/skip.ts"),
    },
  },
  {
    noun: { name: "queue", summary: "queues of commands: list, groups, limit, pause, resume" },
    commands: {
      list: () => import("./commands/queue/list.ts"),
      groups: () => import("./commands/queue/groups.ts"),
      limit: () => import("./commands/queue/limit.ts"),
      pause: () => import("./commands/queue/pause.ts"),
      resume: () => import("./commands/queue/resume.ts"),
    },
  },
  {
    noun: { name: "schedule", summary: "what starts at which times: list, show, create, pause, resume, trigger, backfill, remove" },
    commands: {
      list: () => import("./commands/schedule/list.ts"),
      show: () => import("./commands/schedule/show.ts"),
      create: () => import("./commands/schedule/create.ts"),
      pause: () => import("./commands/schedule/pause.ts"),
      resume: () => import("./commands/schedule/resume.ts"),
      trigger: () => import("./commands/schedule/trigger.ts"),
      backfill: () => import("./commands/schedule/backfill.ts"),
      remove: () => import("./commands/schedule/remove.ts"),
    },
  },
  {
    noun: { name: "token", summary: "named tokens of the server: list, create, rotate, revoke" },
    commands: {
      list: () => import("./commands/token/list.ts"),
      create: () => import("./commands/token/create.ts"),
      rotate: () => import("./commands/token/rotate.ts"),
      revoke: () => import("./commands/token/revoke.ts"),
    },
  },
  {
    noun: { name: "audit", summary: "what operators did: list, export" },
    commands: {
      list: () => import("./commands/audit/list.ts"),
      export: () => import("./commands/audit/export.ts"),
    },
  },
  {
    noun: { name: "timer", summary: "dead timers: list, revive" },
    commands: {
      list: () => import("./commands/timer/list.ts"),
      revive: () => import("./commands/timer/revive.ts"),
    },
  },
  {
    noun: { name: "graph", summary: "query and export the knowledge graph", system: "knowledge" },
    commands: {
      query: () => import("./commands/graph/query.ts"),
      entities: () => import("./commands/graph/entities.ts"),
      relations: () => import("./commands/graph/relations.ts"),
      provenance: () => import("./commands/graph/provenance.ts"),
      neighbourhood: () => import("./commands/graph/neighbourhood.ts"),
      text: () => import("./commands/graph/text.ts"),
      vocabulary: () => import("./commands/graph/vocabulary.ts"),
      export: () => import("./commands/graph/export.ts"),
      report: () => import("./commands/graph/report.ts"),
      versions: () => import("./commands/graph/versions.ts"),
      diff: () => import("./commands/graph/diff.ts"),
      stats: () => import("./commands/graph/stats.ts"),
      merge: () => import("./commands/graph/merge.ts"),
      split: () => import("./commands/graph/split.ts"),
      different: () => import("./commands/graph/different.ts"),
      decisions: () => import("./commands/graph/decisions.ts"),
      undo: () => import("./commands/graph/undo.ts"),
    },
  },
  {
    noun: { name: "data", summary: "all stored data: back it up, restore it, copy it to another database or folder" },
    commands: {
      copy: () => import("./commands/data/copy.ts"),
      backup: () => import("./commands/data/backup.ts"),
      restore: () => import("./commands/data/restore.ts"),
    },
  },
  {
    noun: { name: "cluster", summary: "nodes that share the instances of one PostgreSQL database: status, drain" },
    commands: {
      status: () => import("./commands/cluster/status.ts"),
      drain: () => import("./commands/cluster/drain.ts"),
    },
  },
]

const loaders: ReadonlyMap<string, LoadCommand> = new Map(
  groups.flatMap(({ noun, commands }) =>
    Object.entries(commands).map(([verb, load]) => [noun === undefined ? verb : `${noun.name} ${verb}`, load] as const),
  ),
)

/** Loads the command with this name. Undefined without one. */
export const loadCommand = async (name: string): Promise<RunnableCommand | undefined> => (await loaders.get(name)?.())?.default

/** The table that `--help` and completions read instead of the files, so that they do not load Effect. */
export const makeTable = async () => {
  const commands = await Promise.all([...loaders.values()].map(async (load) => (await load()).default.declared))
  return { nouns: groups.flatMap(({ noun }) => noun ?? []), commands }
}
