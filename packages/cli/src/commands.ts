/** Where the code of each command is. It is loaded when the command runs, so that none waits for what another needs. */
import type { Handlers } from "./Handler.ts"

const batch = () => import("./commands/batch.ts")
const upload = () => import("./commands/upload.ts")
const machine = () => import("./commands/machine.ts")
const instance = () => import("./commands/instance.ts")
const execution = () => import("./commands/execution.ts")
const command = () => import("./commands/command.ts")
const queue = () => import("./commands/queue.ts")
const timer = () => import("./commands/timer.ts")
const graph = () => import("./commands/graph.ts")
const serving = () => import("./commands/serving.ts")

export const handlers: Omit<Handlers, "completions"> = {
  dev: async () => (await serving()).dev,
  serve: async () => (await serving()).serve,
  worker: async () => (await import("./commands/worker.ts")).worker,
  activity: async () => (await import("./commands/activity.ts")).activity,
  init: async () => (await import("./commands/init.ts")).init,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  "batch run": async () => (await batch()).run,
  "batch list": async () => (await batch()).list,
  "batch show": async () => (await batch()).show,
  "batch watch": async () => (await batch()).watch,
  "batch cancel": async () => (await batch()).cancel,
  "batch retry": async () => (await batch()).retry,
  "batch resume": async () => (await batch()).resume,
  "batch withdraw": async () => (await batch()).withdraw,
  "upload run": async () => (await upload()).run,
  "upload list": async () => (await upload()).list,
  "upload show": async () => (await upload()).show,
  "upload watch": async () => (await upload()).watch,
  "upload history": async () => (await upload()).history,
  "upload kinds": async () => (await upload()).kinds,
  "upload retry": async () => (await upload()).retry,
  "upload cancel": async () => (await upload()).cancel,
  "upload correct": async () => (await upload()).correct,
  "upload search": async () => (await upload()).search,
  "machine list": async () => (await machine()).list,
  "machine show": async () => (await machine()).show,
  "machine diagram": async () => (await machine()).diagram,
  "machine check": async () => (await machine()).check,
  "instance list": async () => (await instance()).list,
  "instance start": async () => (await instance()).start,
  "instance show": async () => (await instance()).show,
  "instance history": async () => (await instance()).history,
  "instance send": async () => (await instance()).send,
  "instance ask": async () => (await instance()).ask,
  "instance repair": async () => (await instance()).repair,
  "instance fork": async () => (await instance()).fork,
  "instance purge": async () => (await instance()).purge,
  "execution list": async () => (await execution()).list,
  "execution show": async () => (await execution()).show,
  "execution resume": async () => (await execution()).resume,
  "execution interrupt": async () => (await execution()).interrupt,
  "command list": async () => (await command()).list,
  "command retry": async () => (await command()).retry,
  "command skip": async () => (await command()).skip,
  "queue list": async () => (await queue()).list,
  "queue pause": async () => (await queue()).pause,
  "queue resume": async () => (await queue()).resume,
  "timer list": async () => (await timer()).list,
  "timer revive": async () => (await timer()).revive,
  "graph query": async () => (await graph()).query,
  "graph export": async () => (await graph()).exportGraph,
  "graph diff": async () => (await graph()).diff,
  "graph stats": async () => (await graph()).stats,
}
