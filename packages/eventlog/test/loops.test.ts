/** The background loops of a journal outlive defects. */

import { LoopHealth } from "@detent/store"
import { eventually } from "@detent/store/testing/CommandKit"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { freshFile } from "../../store/test/support/Sqlite.ts"
import { makeFollower } from "../src/journal/JournalFollower.ts"
import { newEntry } from "../src/journal/JournalLayer.ts"
import { openJournal } from "../src/journal/OpenJournal.ts"
import { Tail } from "../src/journal/Tail.ts"
import { clientOf } from "./Databases.ts"

it.live("147 a journal whose store throws is followed again afterwards: one warning, and listed as down meanwhile", () =>
  Effect.gen(function* () {
    const health = LoopHealth.make()
    const warnings: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
      if (logLevel === "Warn") warnings.push(String(Array.isArray(message) ? message[0] : message))
    })
    const filename = yield* freshFile
    yield* Effect.gen(function* () {
      const journal = yield* openJournal({})
      const { store, writer, ids } = journal
      let isBroken = true
      const broken = {
        ...store,
        state: Effect.suspend(() => (isBroken ? Effect.die(new Error("the driver is broken")) : store.state)),
      }
      const tail = new Tail(0, new Set())
      const follower = yield* makeFollower(broken, tail, ids, 0, "10 millis", undefined)
      const reader = yield* Effect.forkChild(follower.passed(0))
      const down = Effect.sync(() => health.outages().map(({ name, failures }) => ({ name, failures })))
      const [outage] = yield* eventually(down, ([first]) => (first?.failures ?? 0) >= 2)
      assert.strictEqual(outage?.name, "follower of journal default")
      yield* writer.write({ entry: yield* newEntry(journal, "Written", "a", new Uint8Array()), origin: undefined })
      isBroken = false
      yield* Fiber.join(reader)
      assert.strictEqual(tail.position, 1)
      yield* eventually(down, ({ length }) => length === 0)
      assert.strictEqual(warnings.length, 1)
      assert.match(
        warnings[0] ?? "",
        /^follower of journal default failed and is tried again until it succeeds: the driver is broken\n +at .*loops\.test\.ts/,
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(clientOf({ _tag: "Sqlite", filename })),
      Effect.provideService(LoopHealth, health),
      Effect.provide(Logger.layer([logger])),
    )
  }),
)
