/**
 * A server with version 1 or 2 of a machine. Arguments: the data folder, the port, the version, and with PostgreSQL its address and the
 * address of the node in a cluster. It prints its address.
 */
import { Event, Machine, State } from "@detent/machine"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S1 = State({ Open: { count: Schema.Int } })
const E1 = Event({ Add: { by: Schema.Int } })
const One = Machine.make({ name: "order", state: S1, event: E1, initial: S1.Open({ count: 0 }) }).on(
  S1.Open,
  E1.Add,
  S1.Open,
  ({ state, event }) => S1.Open({ count: state.count + event.by }),
)

const S2 = State({ Open: { count: Schema.Int, note: Schema.String } })
const E2 = Event({ Add: { by: Schema.Int }, Write: { note: Schema.String } })
const Two = Machine.make({ name: "order", version: 2, state: S2, event: E2, initial: S2.Open({ count: 0, note: "" }) })
  .on(S2.Open, E2.Add, S2.Open, ({ state, event }) => S2.Open({ ...state, count: state.count + event.by }))
  .on(S2.Open, E2.Write, S2.Open, ({ state, event }) => S2.Open({ ...state, note: event.note }))

const [, , data = "", port = "0", version, database, address] = process.argv
const config =
  version === "2"
    ? defineConfig({ machines: [Two], upcasters: { order: { 1: { state: (state) => ({ ...state, note: "" }) } } } })
    : defineConfig({ machines: [One] })
const cluster = address === undefined ? {} : { cluster: { address, token: "a secret of the tests", lease: "5 seconds" as const } }
const workspace = Workspace.open({ data, role: "work", config, ...(database === undefined ? {} : { database }), ...cluster })

runServer(serve({ port: Number(port) }).pipe(Layer.provide(workspace)), ({ url }) => Effect.sync(() => console.log(url)))
