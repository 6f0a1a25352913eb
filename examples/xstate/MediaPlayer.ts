/** A media player: an XState machine, and the same machine on the durable engine. */
import { Engine } from "@detent/durable"
import { fromXState } from "@detent/xstate"
import * as Effect from "effect/Effect"
import { assign, emit, setup } from "xstate"

const playerMachine = setup({
  types: {
    context: {} as { position: number },
    events: {} as { type: "play" } | { type: "pause" } | { type: "seek"; to: number } | { type: "mute" } | { type: "unmute" },
    emitted: {} as { type: "started"; at: number },
  },
  actions: { report: (_, _params: { text: string }) => undefined },
}).createMachine({
  id: "player",
  type: "parallel",
  context: { position: 0 },
  states: {
    playback: {
      initial: "paused",
      states: {
        paused: { on: { play: "playing" }, after: { 1800000: "stopped" } },
        playing: {
          entry: [{ type: "report", params: { text: "playing" } }, emit(({ context }) => ({ type: "started", at: context.position }))],
          on: { pause: "paused" },
        },
        stopped: { on: { play: "playing" } },
      },
    },
    sound: { initial: "on", states: { on: { on: { mute: "off" } }, off: { on: { unmute: "on" } } } },
  },
  on: { seek: { actions: assign({ position: ({ event }) => event.to }) } },
})

/** The action runs as a command after the transition is stored. After a crash it runs again with the same key. */
export const Player = fromXState(playerMachine, {
  version: 1,
  actions: { report: ({ text }, { id, key }) => Effect.log(`${id} is ${text}`, { key }) },
})

export const play = Effect.gen(function* () {
  const engine = yield* Engine
  const player = yield* engine.start(Player, "player-1")
  yield* player.send({ type: "seek", to: 42 })
  yield* player.send({ type: "play" })
  const { value, context } = yield* player.state
  return { value, position: context.position }
})
