/** A check in a process that also serves: other work of the process gets its turns. */
import { Event, Machine, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { turnsDuring } from "../../../store/test/support/turns.ts"
import { makeKit } from "../../testing/engine/Rig.ts"

const S = State({ Open: { characters: Schema.Int } })
const E = Event({ Note: { text: Schema.String } })
const Noted = Machine.make({ name: "noted", state: S, event: E, initial: S.Open({ characters: 0 }) }).on(
  S.Open,
  E.Note,
  S.Open,
  ({ state, event }) => S.Open({ characters: state.characters + event.text.length }),
)

for (const kit of [makeKit("on memory", MemoryStore.layer, {}), makeKit("on SQLite", sqliteLayer, {})]) {
  kit.test(`a check gives turns between large events of one instance, ${kit.name}`, ({ open }) =>
    Effect.gen(function* () {
      const { engine } = yield* open()
      const one = yield* engine.start(Noted, "large")
      for (let count = 0; count < 60; count++) yield* one.send(E.Note({ text: "é".repeat(400_000) }))
      const { value, turns } = yield* turnsDuring(engine.check(Noted))
      expect(value).toEqual({ checked: 1, failing: [] })
      expect(turns).toBeGreaterThanOrEqual(20)
    }),
  )

  kit.test(`a check gives turns between instances, ${kit.name}`, ({ open }) =>
    Effect.gen(function* () {
      const { engine } = yield* open()
      const ids = Array.from({ length: 60 }, (_, n) => `large-${n}`)
      for (const id of ids) yield* Effect.flatMap(engine.start(Noted, id), (one) => one.send(E.Note({ text: "é".repeat(400_000) })))
      const { value, turns } = yield* turnsDuring(engine.check(Noted))
      expect(value).toEqual({ checked: 60, failing: [] })
      expect(turns).toBeGreaterThanOrEqual(20)
    }),
  )
}
