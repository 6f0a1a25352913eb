/**
 * A server to be killed in the middle of requests: the first request under each key that begins with `die-` stops after its work is
 * stored and before its answer is, and a file `stopped-KEY` in the data folder says so. Arguments: the data folder, the port, and
 * `systems` to turn knowledge and uploads on. It prints its address.
 */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import { RequestKeys } from "@detent/workspace/RequestKeys"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gate, Ship, shipLayer } from "./Ship.ts"
import { Tally } from "./Tally.ts"
import { Teller } from "./Teller.ts"

const [, , data = "", port = "0", systems] = process.argv

const stopOnce = (key: string) =>
  Effect.suspend(() => {
    const mark = join(data, `stopped-${key}`)
    if (!key.startsWith("die-") || existsSync(mark)) return Effect.void
    writeFileSync(mark, "")
    return Effect.never
  })

const dying = Layer.effect(
  RequestKeys,
  Effect.map(RequestKeys, (keys) => ({
    ...keys,
    once: (request, operation) =>
      keys.once(
        request,
        Effect.tap(operation, () => stopOnce(request.key)),
      ),
  })),
)

const config = defineConfig({ machines: [Tally, Teller], workflows: [{ workflow: Ship, layer: shipLayer, events: { gate: Gate } }] })
const readable = [join(import.meta.dirname, "../../../knowledge/corpus")]
const both = systems === "systems" ? { knowledge: {}, uploads: {} } : {}
const workspace = Workspace.open({ data, role: "work", config, readable, ...both })

runServer(serve({ port: Number(port) }).pipe(Layer.provide(dying), Layer.provide(workspace)), ({ url }) =>
  Effect.sync(() => console.log(url)),
)
