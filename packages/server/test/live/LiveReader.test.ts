import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Channel, type Frame, frameOf } from "../../src/serve/live/Channel.ts"
import { Channels } from "../../src/serve/live/Channels.ts"
import type { LiveReader } from "../../src/serve/live/LiveReader.ts"

/** A store of frames, and a channel that gets those that are added later. */
const world = (stored: number) => {
  const all: Array<Frame> = Array.from({ length: stored }, (_, index) => frameOf(index + 1, "event", { n: index + 1 }))
  const channels = new Channels()
  let loads = 0
  const load = async (after: number) => {
    loads++
    const frames = all.filter(({ position }) => position > after).slice(0, 500)
    return { frames, through: frames.at(-1)?.position ?? after }
  }
  const channel = channels.open("one", stored, load)
  const add = (count: number) => {
    const fresh = Array.from({ length: count }, (_, index) => frameOf(all.length + index + 1, "event", { n: all.length + index + 1 }))
    all.push(...fresh)
    channel.add(fresh)
  }
  return { all, channels, channel, add, loads: () => loads }
}

const idsIn = (text: string): ReadonlyArray<number> => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

const collected = (reader: LiveReader) => {
  let text = ""
  reader.on("data", (chunk) => {
    text += chunk
  })
  return () => idsIn(text)
}

const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const Step = Schema.Union([
  Schema.Struct({ add: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 })) }),
  Schema.Struct({ join: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5000 })) }),
  Schema.Struct({ pause: Schema.Boolean }),
])

describe("readers of a live stream", () => {
  it.effect.prop(
    "each get every frame after where they began, once and in order, however they join and pause",
    { stored: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1500 })), steps: Schema.Array(Step) },
    ({ stored, steps }) =>
      Effect.gen(function* () {
        const { all, channels, channel, add } = world(stored)
        const readers: Array<{ readonly after: number; readonly reader: LiveReader; readonly seen: () => ReadonlyArray<number> }> = []
        for (const step of steps) {
          if ("add" in step) add(step.add)
          else if ("join" in step) {
            const after = Math.min(step.join, all.length)
            const reader = channels.reader("one", channel, after)
            readers.push({ after, reader, seen: collected(reader) })
          } else for (const { reader } of readers) step.pause ? reader.pause() : reader.resume()
          yield* turn
        }
        for (const { reader } of readers) reader.resume()
        for (const { after, seen, reader } of readers) {
          for (let turns = 0; turns < 2000 && seen().length < all.length - after; turns++) yield* turn
          assert.deepStrictEqual(
            seen(),
            all.slice(after).map(({ position }) => position),
          )
          reader.destroy()
        }
      }),
  )

  it.effect("who join together share what is read from the store", () =>
    Effect.gen(function* () {
      const { channels, channel, loads } = world(400)
      const readers = Array.from({ length: 100 }, () => channels.reader("one", channel, 0))
      const seen = readers.map(collected)
      for (let turns = 0; turns < 50; turns++) yield* turn
      for (const ids of seen) assert.strictEqual(ids().length, 400)
      assert.strictEqual(loads(), 1)
    }),
  )

  it.effect("who take nothing although there is something are given up, and who wait are kept", () =>
    Effect.gen(function* () {
      const { channels, channel, add } = world(0)
      const stopped = channels.reader("one", channel, 0)
      const waiting = channels.reader("one", channel, 0)
      const seen = collected(waiting)
      yield* turn
      add(1000)
      for (let beats = 0; beats < 5; beats++) {
        channels.beat()
        yield* turn
      }
      assert.isTrue(stopped.destroyed)
      assert.isFalse(waiting.destroyed)
      assert.strictEqual(seen().length, 1000)
      assert.strictEqual(channels.readerCount, 1)
      waiting.destroy()
      yield* turn
      assert.deepStrictEqual(channels.names, [])
    }),
  )

  it.effect("get all events and a last one when it has ended; a later reader begins anew", () =>
    Effect.gen(function* () {
      const { all, channels, channel, add } = world(700)
      const [slow, quick] = [channels.reader("one", channel, 0), channels.reader("one", channel, 700)]
      const seen = [collected(slow), collected(quick)] as const
      slow.pause()
      yield* turn
      add(300)
      channels.close("one", frameOf(5000, "status", {}).bytes)
      slow.resume()
      for (let turns = 0; turns < 2000 && !(slow.readableEnded && quick.readableEnded); turns++) yield* turn
      const positions = [...all.map(({ position }) => position), 5000]
      assert.deepStrictEqual([...seen[0]()], positions)
      assert.deepStrictEqual([...seen[1]()], positions.slice(700))
      assert.isFalse(channels.open("one", 1000, async () => ({ frames: [], through: 0 })).isEnded)
    }),
  )

  it.effect("hold no more than a few frames for one that is slow", () =>
    Effect.gen(function* () {
      const { channel } = world(0)
      for (let round = 0; round < 50; round++) {
        channel.add(Array.from({ length: 1000 }, (_, index) => frameOf(round * 1000 + index + 1, "event", {})))
      }
      // What is older is read from the store.
      assert.isUndefined(channel.after(0))
      assert.isDefined(channel.after(49_500))
      assert.isTrue(channel instanceof Channel)
      yield* Effect.void
    }),
  )
})
