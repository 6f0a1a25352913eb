/**
 * The shop of the demo in a process of its own, so that the demo can kill it: a workspace with the order machine, and its server. It
 * prints the server's address as the first line, and ends when its standard input does.
 *
 * Run by `npm run demo` with the data folder and the address of the providers.
 */
import { makeShop } from "@detent/cli/demo"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { corpus } from "../knowledge/Corpus.ts"

const [, , data = "", providers = ""] = process.argv

const config = defineConfig({ machines: [makeShop(providers)] })
const workspace = Workspace.open({ config, data, role: "work", readable: [corpus], knowledge: {}, uploads: {} })

const stopped = Effect.callback<void>((resume) => {
  process.stdin.resume().once("end", () => resume(Effect.void))
  process.once("SIGTERM", () => resume(Effect.void))
  // The terminal sends Ctrl-C to every process of the demo; the demo then ends this one.
  process.on("SIGINT", () => {})
})

const program = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.provide(serve({ port: 0 }), workspace))
  console.log(Context.get(context, Server).url)
  yield* stopped
})

await Effect.runPromise(Effect.provide(Effect.scoped(program), Logger.layer([])))
process.stdin.destroy()
