/**
 * Vercel's Workflow SDK on its PostgreSQL world: graphile-worker in this process calls the routes of the workflows, which this process
 * serves. As many workers as there are callers, and the pool that its documentation recommends for them.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import pg from "pg"
import { atExit } from "../../../measure/AtExit.ts"
import { freePort } from "../../../measure/Postgres.ts"
import { peerOf, type Running, stepCount, type UserCode } from "../Peer.ts"

const workers = 50

type Route = (request: Request) => Promise<Response>

interface Runtime {
  readonly start: (
    workflow: { readonly workflowId: string },
    args: ReadonlyArray<unknown>,
  ) => Promise<{ readonly returnValue: Promise<unknown> }>
  readonly resumeHook: (token: string, payload: unknown) => Promise<unknown>
  readonly getWorld: () => { readonly start?: () => Promise<void>; readonly close?: () => Promise<void> }
}

export const peer = async ({ database }: { readonly database: string }) => peerOf((code) => start(database, code))

const start = async (database: string, { step }: UserCode): Promise<Running> => {
  Object.assign(globalThis, { [Symbol.for("detent.bench.step")]: step })
  const port = await freePort()
  const require = createRequire(import.meta.url)
  const world = require.resolve("@workflow/world-postgres")
  Object.assign(process.env, {
    PORT: String(port),
    WORKFLOW_TARGET_WORLD: world,
    WORKFLOW_POSTGRES_URL: database,
    WORKFLOW_POSTGRES_WORKER_CONCURRENCY: String(workers),
    WORKFLOW_POSTGRES_MAX_POOL_SIZE: String(workers + 2),
  })
  const made = spawnSync(process.execPath, [join(dirname(world), "..", "bin", "setup.js")], { encoding: "utf8" })
  if (made.status !== 0) throw new Error(`the tables were not made:\n${made.error ?? made.signal ?? ""}${made.stdout}${made.stderr}`)
  const { routes, idOf, remove } = await build()
  const server = createServer((request, response) => void answer(routes, request, response))
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const runtime: Runtime = await import("workflow/runtime" as string).then(async (runtime) => ({
    ...runtime,
    ...(await import("workflow/api" as string)),
  }))
  await runtime.getWorld().start?.()
  const client = new pg.Client(database)
  await client.connect()
  return {
    run: async (id) => (await runtime.start({ workflowId: idOf("steps") }, [id, stepCount])).returnValue,
    wait: async (id) => {
      await runtime.start({ workflowId: idOf("waiter") }, [id])
      // A hook that the workflow has not created yet cannot be resumed.
      const isWaiting = async () => (await client.query("select 1 from workflow.workflow_hooks where token = $1", [id])).rows.length > 0
      while (!(await isWaiting())) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    signal: (id) => runtime.resumeHook(id, "go"),
    sleep: (id, due) => runtime.start({ workflowId: idOf("sleeper") }, [id, due]),
    completed: async () => {
      const { rows } = await client.query("select count(*) as completed from workflow.workflow_runs where status = 'completed'")
      return Number(rows[0].completed)
    },
    close: async () => {
      await runtime.getWorld().close?.()
      await client.end()
      server.close()
      remove()
    },
  }
}

interface Built {
  readonly routes: ReadonlyMap<string, Route>
  readonly idOf: (name: string) => string
  readonly remove: () => void
}

/** Compiles the workflows into a folder in which their imports resolve. */
const build = async (): Promise<Built> => {
  const { StandaloneBuilder } = await import("@workflow/builders" as string)
  const folder = join(import.meta.dirname, "..", ".generated", "vercel")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const remove = atExit(() => rmSync(folder, { recursive: true, force: true }))
  copyFileSync(join(import.meta.dirname, "vercel", "workflows.js"), join(folder, "workflows.js"))
  const bundle = (name: string) => join(folder, "out", `${name}.cjs`)
  const builder = new StandaloneBuilder({
    buildTarget: "standalone",
    workingDir: folder,
    dirs: ["."],
    stepsBundlePath: bundle("step"),
    workflowsBundlePath: bundle("flow"),
    webhookBundlePath: bundle("webhook"),
  })
  // The compiler puts its cache into the current folder.
  const before = process.cwd()
  process.chdir(folder)
  await builder.build()
  process.chdir(before)
  const routes = new Map<string, Route>()
  for (const name of ["step", "flow"])
    routes.set(`/.well-known/workflow/v1/${name}`, (createRequire(import.meta.url)(bundle(name)) as { readonly POST: Route }).POST)
  return { routes, idOf: (name) => `workflow//./workflows//${name}`, remove }
}

const answer = async (routes: Built["routes"], incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
  const route = routes.get(new URL(incoming.url ?? "", "http://localhost").pathname)
  if (route === undefined) {
    response.writeHead(404).end()
    return
  }
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as [string, string]] : [],
  )
  const answered = await route(new Request(`http://localhost${incoming.url}`, { method: "POST", headers, body: await text(incoming) }))
  response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text())
}
