/** Restate: its server with its default settings, in a folder of its own, and the workflows in this process, as its SDK serves them. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:http2"
import { createRequire } from "node:module"
import * as restate from "@restatedev/restate-sdk"
import { atExit } from "../../../measure/AtExit.ts"
import { freePort } from "../../../measure/Postgres.ts"
import { temporaryFolder } from "../../../measure/TemporaryFolder.ts"
import { payload } from "../../durable/machines/toggle.ts"
import { sideBySide, type ThroughputOptions, throughputOf } from "../../durable/Throughput.ts"
import { queueOf } from "../Jobs.ts"
import { peerOf, type Running, stepCount, type UserCode } from "../Peer.ts"

const workflowsOf = ({ step }: UserCode) => [
  restate.workflow({
    name: "steps",
    handlers: {
      run: async (ctx: restate.WorkflowContext) => {
        for (let index = 0; index < stepCount; index++) await ctx.run(`step-${index}`, () => step(ctx.key, index))
      },
    },
  }),
  restate.workflow({
    name: "waiter",
    handlers: {
      run: async (ctx: restate.WorkflowContext) => {
        await ctx.promise<string>("go")
        await ctx.run("continued", () => step(ctx.key, 0))
      },
      signal: (ctx: restate.WorkflowSharedContext) => ctx.promise<string>("go").resolve("go"),
    },
  }),
  restate.workflow({
    name: "sleeper",
    handlers: {
      run: async (ctx: restate.WorkflowContext, due: number) => {
        await ctx.sleep(Math.max(1, due - Date.now()))
        await ctx.run("woke", () => step(ctx.key, 0))
      },
    },
  }),
]

const counter = restate.object({
  name: "counter",
  handlers: {
    turn: async (ctx: restate.ObjectContext, payload: string) => {
      const { turns } = (await ctx.get<{ readonly turns: number }>("state")) ?? { turns: 0 }
      ctx.set("state", { turns: turns + 1, payload })
      return turns + 1
    },
  },
})

export const peer = async () => peerOf(start)

/** Virtual objects: each has state, and runs one call at a time. */
export const transitions = async ({ concurrency }: ThroughputOptions) => {
  const server = await startServer()
  await serve(server.admin, [counter])
  const turn = (key: number) => post(`${server.ingress}/counter/counter-${key}/turn`, payload)
  return throughputOf({
    store: (isOver) =>
      sideBySide(concurrency, async (key) => {
        let done = 0
        for (; !isOver(); done++) await turn(key)
        return done
      }),
    // The call that reads the number is a turn itself.
    count: async () => {
      let turns = 0
      for (let key = 0; key < concurrency; key++) turns += Number(await turn(key)) - 1
      return turns
    },
    close: server.stop,
  })
}

export { transitions as transition }

/** Messages to a service: they are stored, executed, and their callers do not wait for the result. */
export const queue = async () =>
  queueOf(async (executed) => {
    const server = await startServer()
    const worker = restate.service({
      name: "worker",
      handlers: { job: async (_: restate.Context, job: { readonly number: number }) => executed(job.number) },
    })
    await serve(server.admin, [worker])
    return {
      enqueue: (number, payload) => post(`${server.ingress}/worker/job/send`, { number, payload }),
      unfinished: async () => {
        const [row] = await query(server.admin, "select count(*) as jobs from sys_invocation where status <> 'completed'")
        return Number(row?.["jobs"])
      },
      close: server.stop,
    }
  })

const start = async (code: UserCode): Promise<Running> => {
  const server = await startServer()
  await serve(server.admin, workflowsOf(code))
  return {
    run: (id) => post(`${server.ingress}/steps/${id}/run`),
    wait: (id) => post(`${server.ingress}/waiter/${id}/run/send`),
    signal: (id) => post(`${server.ingress}/waiter/${id}/signal`),
    sleep: (id, due) => post(`${server.ingress}/sleeper/${id}/run/send`, due),
    completed: async () => {
      const rows = await query(
        server.admin,
        "select count(*) as completed from sys_invocation where status = 'completed' and target_handler_name = 'run'",
      )
      return Number(rows[0]?.["completed"])
    },
    serverMicros: server.cpuMicros,
    close: server.stop,
  }
}

interface Server {
  readonly ingress: string
  readonly admin: string
  readonly cpuMicros: () => number
  readonly stop: () => Promise<void>
}

const startServer = async (): Promise<Server> => {
  const folder = temporaryFolder()
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()]
  const program = createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )
  const child = spawn(program, ["--base-dir", folder.file("restate"), "--listen-mode", "tcp"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "warn",
    },
  })
  let log = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (log = `${log}${data}`.slice(-4000)))
  const kill = atExit(() => child.kill("SIGKILL"))
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  child.once("exit", kill)
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` }
  for (let waited = 0; !(await isHealthy(urls)); waited += 100) {
    if (child.exitCode !== null || waited > 60_000) throw new Error(`restate-server did not start:\n${log}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    ...urls,
    cpuMicros: () => cpuMicrosOf(child.pid ?? 0),
    stop: async () => {
      kill()
      await exited
      folder.remove()
    },
  }
}

const isHealthy = async ({ ingress, admin }: { readonly ingress: string; readonly admin: string }): Promise<boolean> => {
  const urls = [`${ingress}/restate/health`, `${admin}/health`]
  const answers = await Promise.allSettled(urls.map((url) => fetch(url)))
  return answers.every((answer) => answer.status === "fulfilled" && answer.value.ok)
}

/** Linux counts in hundredths of a second. */
const cpuMicrosOf = (pid: number): number => {
  if (process.platform !== "linux") return Number.NaN
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const serve = async (admin: string, services: ReadonlyArray<Parameters<ReturnType<typeof restate.endpoint>["bind"]>[0]>): Promise<void> => {
  const handler = restate.createEndpointHandler({
    services: [...services],
    logger: (meta, message) => {
      if (String(meta.level) === "error") console.error(message)
    },
  })
  const port = await freePort()
  await new Promise<void>((resolve) => createServer(handler).listen(port, "127.0.0.1", resolve))
  await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}` })
}

const query = async (admin: string, statement: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> => {
  const { rows } = (await post(`${admin}/query`, { query: statement })) as { readonly rows: ReadonlyArray<Record<string, unknown>> }
  return rows
}

const post = async (url: string, body?: unknown): Promise<unknown> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
  return text === "" ? undefined : JSON.parse(text)
}
