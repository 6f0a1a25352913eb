import { defineConfig } from "@detent/workspace"
import * as instances from "@detent/workspace/operations/instances"
import { Workspace } from "@detent/workspace/Workspace"
import { fromXState } from "@detent/xstate"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assign, setup } from "xstate"
import { folder } from "./support/folder.ts"

const Player = fromXState(
  setup({
    types: {
      context: {} as { title: string; position: number },
      input: {} as { title: string },
      events: {} as { type: "play" } | { type: "seek"; to: number } | { type: "mute" },
    },
  }).createMachine({
    id: "player",
    context: ({ input }) => ({ title: input.title, position: 0 }),
    initial: "idle",
    states: {
      idle: { on: { play: "open" } },
      open: {
        type: "parallel",
        states: {
          sound: { initial: "on", states: { on: { on: { mute: "off" } }, off: {} } },
          track: { initial: "running", states: { running: { on: { seek: { actions: assign({ position: ({ event }) => event.to }) } } } } },
        },
      },
    },
  }),
)

const key = { machine: "player", id: "one" }

it.live("a chart is started with its input, sent to and read like any machine", () =>
  Effect.gen(function* () {
    const data = yield* folder
    const workspace = yield* Layer.build(Workspace.open({ data, role: "work", config: defineConfig({ machines: [Player] }) }))
    yield* Effect.gen(function* () {
      const started = yield* instances.start({ ...key, input: { title: "Prelude" } })
      expect(started.state).toMatchObject({ _tag: "idle", context: { title: "Prelude", position: 0 } })
      expect((yield* instances.legalEvents(key)).events.map(({ event }) => event)).toEqual(["play"])
      yield* instances.send(key, { _tag: "play" })
      yield* instances.send(key, { _tag: "seek", to: 42 } as never)
      const { state } = yield* instances.get(key)
      expect(state).toMatchObject({ _tag: "open", value: { open: { sound: "on", track: "running" } }, context: { position: 42 } })
      const { events } = yield* instances.legalEvents(key)
      expect(events.map(({ event }) => event).sort()).toEqual(["mute", "seek"])
      const refused = yield* Effect.flip(instances.send(key, { _tag: "shout" }))
      expect(refused.message).toContain("the events are play, ")
    }).pipe(Effect.provideContext(workspace))
  }),
)
