/** A workspace in a folder of its own, served on a port of its own, for as long as a test lasts. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as clients from "@detent/api/client"
import type { BatchId } from "@detent/knowledge"
import { sharedWorkers } from "@detent/knowledge/testing/SharedWorkers"
import { defineConfig, type ServeOptions, Server, serve, Workspace, type WorkspaceOptions } from "@detent/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll } from "vitest"
import { within } from "../../../store/test/support/patience.ts"
import { Tally } from "./Tally.ts"

export const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-server-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })),
)

export const corpus = join(import.meta.dirname, "../../../knowledge/corpus")

export interface ServedOptions extends Omit<WorkspaceOptions, "role"> {
  readonly serve?: ServeOptions
}

/** Where it is served, a client, and whatever the workspace provides. Knowledge and uploads are on. */
export const served = ({ serve: options, ...home }: ServedOptions = {}) =>
  Effect.gen(function* () {
    const data = home.data ?? (yield* temporaryFolder)
    const config = defineConfig({ machines: [Tally] })
    const opened = Workspace.open({ config, readable: [corpus], knowledge: {}, uploads: {}, ...home, data, role: "work" }).pipe(
      Layer.provide(sharedWorkers),
    )
    const context = yield* Layer.build(serve({ port: 0, ...options }).pipe(Layer.provideMerge(opened)))
    const { url } = Context.get(context, Server)
    return { url, data, context, client: yield* clients.makeClient({ url, token: options?.token }) }
  })

export type Served = Effect.Success<ReturnType<typeof served>>

/** The same, for all tests of a file: each of them has data of its own in it. */
export const useServed = (options: ServedOptions = {}): Effect.Effect<Served> => {
  const scope = Scope.makeUnsafe()
  let running: Served | undefined
  beforeAll(async () => {
    running = await Effect.runPromise(Scope.provide(served(options), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.suspend(() => (running === undefined ? Effect.die(new Error("the server did not start")) : Effect.succeed(running)))
}

/** Waits until a batch has ended, for as long as a busy machine may take. */
export const batchEnded = (client: Served["client"], batchId: BatchId) =>
  Effect.repeat(client.batches.get({ params: { batchId } }), {
    until: ({ isTerminal }) => isTerminal,
    schedule: Schedule.spaced("100 millis"),
  }).pipe(within("2 minutes"), Effect.orDie)

/** A plain request, with a problem read as such. */
export const request = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    const text = await response.text()
    return { status: response.status, type: response.headers.get("content-type") ?? "", headers: response.headers, text }
  })

export const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
})
