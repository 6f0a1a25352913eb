/**
 * A server with tight limits on content, as a program of its own. Arguments: the data folder and the port. It prints its address. A
 * message of its parent is answered with the longest time, in milliseconds of processor time, in which its serving thread did nothing
 * but work on one thing, since the last message: unlike the time of a clock, it does not grow with what else the machine does. The
 * answer also has the memory of the process, in megabytes.
 */
import { Event, Machine, State } from "@detent/machine"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import { fromXState } from "@detent/xstate"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { setup } from "xstate"
import { tokens } from "./hostile.ts"
import { meshOf } from "./mesh.ts"
import { Tally } from "./Tally.ts"

const [, , data = "", port = "0"] = process.argv
const limit = { time: "1 second", memory: 600 } as const
const contentLimits = {
  document: limit,
  chunk: limit,
  ontology: { ...limit, time: "3 seconds" },
  query: { ...limit, time: "2 seconds" },
} as const
const Noting = State({ Open: { characters: Schema.Int } })
const Notes = Event({ Note: { text: Schema.String } })

/** Its journal has large events. */
const Noted = Machine.make({ name: "noted", state: Noting, event: Notes, initial: Noting.Open({ characters: 0 }) }).on(
  Noting.Open,
  Notes.Note,
  Noting.Open,
  ({ state, event }) => Noting.Open({ characters: state.characters + event.text.length }),
)

/** Its automatic transitions have no end. */
const spinner = fromXState(
  setup({ types: { events: {} as { type: "go" } } }).createMachine({
    id: "spinner",
    initial: "rest",
    states: { rest: { on: { go: "left" } }, left: { always: "right" }, right: { always: "left" } },
  }),
)
const config = defineConfig({ machines: [Tally, Noted, spinner, meshOf("dense", 100, 3), meshOf("endless", 400, 1)] })
const workspace = Workspace.open({ data, role: "work", config, knowledge: { contentLimits }, uploads: { maxItems: 20_000 } })

let longest = 0
let last = process.threadCpuUsage()
setInterval(() => {
  const { user, system } = process.threadCpuUsage(last)
  last = process.threadCpuUsage()
  longest = Math.max(longest, (user + system) / 1000)
}, 5).unref()
process.on("message", () => {
  process.send?.({ turn: longest, memory: process.memoryUsage.rss() / 1_000_000 })
  longest = 0
})

runServer(
  serve({ port: Number(port), token: Redacted.make(tokens.operate), readToken: Redacted.make(tokens.read) }).pipe(Layer.provide(workspace)),
  ({ url }) => Effect.sync(() => console.log(url)),
)
