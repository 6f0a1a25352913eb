/** What is kept, and in which form. */
import { Event, Machine, Slot, State } from "@detent/machine"
import type { Commit } from "@detent/store"
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { makeKit } from "../../testing/engine/Rig.ts"

const S = State({ Counting: { count: Schema.Int } })
const E = Event({ Add: { at: Schema.Date } })
const effects = Slot.Effects({ note: { at: Schema.Date } })
const machine = Machine.make({ name: "kept", state: S, event: E, effects, initial: S.Counting({ count: 0 }) })
  .on(S.Counting, E.Add, S.Counting, ({ state, event, effects }) => {
    effects.note({ at: event.at })
    return S.Counting({ count: state.count + 1 })
  })
  .build({ note: () => Effect.void })

const { test } = makeKit("keeping", MemoryStore.layer, {})
const at = new Date(1_700_000_000_000)

test("70 a journal that is not kept ends behind each snapshot, and numbering continues", ({ open, quiet }) =>
  Effect.gen(function* () {
    const pruned = machine.persist({ snapshot: { _tag: "EveryN", transitions: 3 }, keepJournal: false })
    const { engine } = yield* open()
    const instance = yield* engine.start(pruned, "x")
    for (let count = 0; count < 8; count++) yield* instance.send(E.Add({ at }))
    yield* quiet
    const entries = yield* Stream.runCollect(instance.history)
    expect(entries.map(({ sequence }) => sequence)).toEqual([7, 8])
    const again = yield* (yield* open()).engine.ensure(pruned, "x")
    expect(yield* again.state).toEqual(S.Counting({ count: 8 }))
  }))

test("112 what an effect is given is stored by its schema, under a key of its own", ({ open }) =>
  Effect.gen(function* () {
    const one = yield* open()
    const commits: Array<Commit> = []
    one.probe.onCommit = (batch, commit) => {
      commits.push(...batch)
      return commit
    }
    const instance = yield* one.engine.start(machine, "x")
    yield* instance.send(E.Add({ at }))
    expect(commits.flatMap((commit) => commit.commands)).toEqual([
      { key: "kept/x/1/0", slot: "note", parameters: JSON.stringify({ at: at.toISOString() }), sequence: 1 },
    ])
  }))
