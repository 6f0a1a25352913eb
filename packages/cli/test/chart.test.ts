/** An XState machine at the command line: drawn, followed, forked and checked like any machine. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

const chartConfig = (version: number, playing: string) => `
import { defineConfig } from "@detent/workspace/Config"
import { fromXState } from "@detent/xstate"
import { assign, setup } from "xstate"

const player = setup({
  types: { context: {} as { position: number }, events: {} as { type: "play" } | { type: "pause" } | { type: "seek"; to: number } },
}).createMachine({
  id: "player",
  type: "parallel",
  context: { position: 0 },
  states: {
    playback: {
      initial: "paused",
      states: {
        paused: { on: { play: "${playing}" } },
        ${playing}: { description: "music", tags: "loud", on: { pause: "paused" }, after: { 3600000: "paused" } },
      },
    },
    sound: { initial: "on", states: { on: {} } },
  },
  on: { seek: { actions: assign({ position: ({ event }) => event.to }) } },
})

export default defineConfig({ machines: [fromXState(player, { version: ${version} })] })
`

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "players")
  await project(cwd, chartConfig(1, "playing"))
})

describe("a chart of XState", () => {
  it("is started, sent events, and shows the delays that wait", async () => {
    assert.strictEqual((await detent("instance", "start", "player", "one")).code, 0)
    const seek = await detent("instance", "send", "player/one", "seek", "--with", '{"to":42}')
    assert.strictEqual(seek.code, 0, seek.err)
    assert.strictEqual((await detent("instance", "send", "player/one", "play")).code, 0)
    const shown = await detent("instance", "show", "player/one")
    assert.match(shown.out, /delays +xstate\.after\.3600000\.player\.playback\.playing: \(xstate\.after\.\S+\) at \d{4}-/)
    const json = JSON.parse((await detent("instance", "show", "player/one", "--json")).out) as {
      readonly timers: unknown
      readonly delays: ReadonlyArray<{ readonly name: string }>
    }
    assert.deepStrictEqual(json.timers, [])
    assert.strictEqual(json.delays[0]?.name, "xstate.after.3600000.player.playback.playing")
  })

  it("has a history with the delays that each event set and cancelled, and a state at each of them", async () => {
    assert.strictEqual((await detent("instance", "send", "player/one", "pause")).code, 0)
    const history = await detent("instance", "history", "player/one")
    assert.match(history.out, /DELAYS/)
    assert.match(history.out, /xstate\.after\.3600000\.player\.playback\.playing cancelled/)
    const before = await detent("instance", "show", "player/one", "--at", "1", "--json")
    const { state } = JSON.parse(before.out) as { readonly state: { readonly value: unknown; readonly context: unknown } }
    assert.deepStrictEqual([state.value, state.context], [{ playback: "paused", sound: "on" }, { position: 42 }])
  })

  it("is forked at an event, with the delay that waited then", async () => {
    assert.strictEqual((await detent("instance", "fork", "player/one", "two", "--through", "2")).code, 0)
    const shown = await detent("instance", "show", "player/two", "--json")
    const { state, delays } = JSON.parse(shown.out) as {
      readonly state: { readonly value: unknown }
      readonly delays: ReadonlyArray<{ readonly name: string }>
    }
    assert.deepStrictEqual(state.value, { playback: "playing", sound: "on" })
    assert.strictEqual(delays.length, 1)
  })

  it("is drawn with its regions apart, in every format", async () => {
    const mermaid = (await detent("machine", "diagram", "player")).out
    assert.match(mermaid, /state "\(active\)" as \S+ \{\n +state "playback" as playback \{[\s\S]+\n +--\n +state "sound" as sound \{/)
    for (const told of ["music", "loud"]) assert.include(mermaid, told)
    for (const format of ["flowchart", "dot", "svg"]) {
      const drawn = await detent("machine", "diagram", "player", "--format", format)
      assert.strictEqual(drawn.code, 0, drawn.err)
      assert.match(drawn.out, /dash/, format)
    }
    const way = (await detent("machine", "diagram", "player", "--instance", "one")).out
    assert.match(way, /class s1,s3 current/)
    assert.match(way, /● play\n/)
    const sequence = await detent("machine", "diagram", "player", "--instance", "one", "--format", "sequence")
    assert.include(sequence.out, "play")
  })

  it("is checked before another definition replaces it", async () => {
    assert.strictEqual((await detent("machine", "check", "player")).code, 0)
    await writeFile(join(cwd, "detent.config.ts"), chartConfig(2, "running"))
    const checked = await detent("machine", "check", "player")
    assert.strictEqual(checked.code, 1, checked.out)
    assert.match(checked.out, /player +2 +[01] +0 +[12]/)
  })
})
