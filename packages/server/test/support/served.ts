/** A workspace in a folder of its own, served on a port of its own, for as long as a test lasts. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sharedWorkers } from "@detent/knowledge/testing/SharedWorkers"
import { client as clients, defineConfig, type ServeOptions, Server, serve, Workspace, type WorkspaceOptions } from "@detent/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
