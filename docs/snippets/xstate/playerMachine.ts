import { assign, emit, fromPromise, setup } from "xstate"

export const playerMachine = setup({
  types: {
    context: {} as { position: number },
    events: {} as { type: "play" } | { type: "pause" } | { type: "seek"; to: number } | { type: "mute" } | { type: "unmute" },
    emitted: {} as { type: "started"; at: number },
  },
  actors: { buffer: fromPromise(async ({ input }: { input: { from: number } }) => console.log(`buffering from ${input.from}`)) },
  delays: { patience: 30 * 60_000 },
}).createMachine({
  id: "player",
  type: "parallel",
  context: { position: 0 },
  states: {
    playback: {
      initial: "paused",
      states: {
        paused: { on: { play: "buffering" }, after: { patience: "stopped" } },
        buffering: {
          invoke: { src: "buffer", input: ({ context }) => ({ from: context.position }), onDone: "playing", onError: "stopped" },
        },
        playing: { entry: emit(({ context }) => ({ type: "started", at: context.position })), on: { pause: "paused" } },
        stopped: { on: { play: "buffering" } },
      },
    },
    sound: { initial: "on", states: { on: { on: { mute: "off" } }, off: { on: { unmute: "on" } } } },
  },
  on: { seek: { actions: assign({ position: ({ event }) => event.to }) } },
})
