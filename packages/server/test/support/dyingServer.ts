/**
 * A server that is killed by the first request under each key that begins with `die-`: after the work of the request is stored, and
 * before its answer is. Arguments: the data folder, the port, and `systems` to turn knowledge and uploads on. It prints its address.
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

const dieOnce = (key: string) =>
  Effect.sync(() => {
    const mark = join(data, `died-${key}`)
    if (!key.startsWith("die-") || existsSync(mark)) return
    writeFileSync(mark, "")
    process.kill(process.pid, "SIGKILL")
  })

const dying = Layer.effect(
  RequestKeys,
  Effect.map(RequestKeys, (keys) => ({
    ...keys,
    once: (request, operation) =>
      keys.once(
        request,
        Effect.tap(operation, () => dieOnce(request.key)),
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
