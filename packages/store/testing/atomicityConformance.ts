/** Rules that need to reach behind the store: faults in the middle of a commit, rows that make no sense. */
import { PersistenceFailed } from "@detent/machine"
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit, InstanceKey } from "../src/contract/Commit.ts"
import { type InstanceRecord, Journal } from "../src/contract/Journal.ts"
import type { Part, StoreHooks } from "./StoreHooks.ts"
import { commit, event, freshKey, snapshot, stored } from "./samples.ts"

export const registerAtomicity = <S, R>(
  it: Vitest.MethodsNonLive<S | R | Journal>,
  { corruptInstance, sabotage, commandKeys }: StoreHooks<R>,
): void => {
  if (corruptInstance !== undefined) {
    it.effect("72 148 a row that cannot be read is a typed failure; in bulk it is held, never left out, and fails no other", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const sound = { ...key, id: `${key.id}-sound` }
        yield* journal.commit([commit(key, -1), commit(sound, -1)])
        yield* corruptInstance(key)
        assert.instanceOf(yield* Effect.flip(journal.open(key)), PersistenceFailed)
        const shown = (records: ReadonlyArray<InstanceRecord>) =>
          records.map(({ id, status, reason }) => [id, status, reason?.includes("cannot be read") === true]).sort()
        const expected = [
          [key.id, "held", true],
          [sound.id, "running", false],
        ].sort()
        assert.deepStrictEqual(shown((yield* journal.openAll([sound, key])).map(({ record }) => record)), expected)
        assert.deepStrictEqual(shown((yield* journal.list({ machine: key.machine }, 10)).instances), expected)
        assert.deepStrictEqual(shown(yield* journal.page({ machine: key.machine }, 10)), expected)
        assert.include((yield* journal.standings([sound, key]))[0], { sequence: 0, status: "running" })
        assert.isTrue(Option.isSome(yield* journal.open(sound)))
      }),
    )
  }

  if (sabotage !== undefined && commandKeys !== undefined) {
    it.effect.each<Part>(["events", "snapshots", "timers", "commands"])(
      "73 when writing the %s fails, nothing of the commit is stored",
      (part) =>
        Effect.gen(function* () {
          const journal = yield* Journal
          const key = yield* freshKey
          const other = { ...key, id: `${key.id}-other` }
          yield* journal.commit([commit(key, -1, { setTimers: [{ name: "old", entry: 0, due: 5 }] })])
          const before = yield* journal.open(key)
          const written = yield* Effect.result(
            Effect.scoped(Effect.andThen(sabotage(part), journal.commit([everything(key, 0, event(1)), everything(other, -1, event(0))]))),
          )
          if (written._tag === "Failure") assert.instanceOf(written.failure, PersistenceFailed)
          else for (const outcome of written.success) assert.strictEqual(outcome._tag === "Stored" ? "Stored" : "failed", "failed")
          assert.deepStrictEqual(yield* journal.open(key), before)
          assert.deepStrictEqual(yield* journal.events(key, 0, 10), [])
          assert.deepStrictEqual(yield* commandKeys(key), [])
          assert.isTrue(Option.isNone(yield* journal.open(other)))
          assert.deepStrictEqual(yield* journal.commit([everything(key, 0, event(1))]), [stored])
        }),
    )

    it.effect("73 111 112 commands are stored with their commit, and the same key again is the first one", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const command = (name: string) => ({ key: `${key.id}/${name}`, slot: "notify", parameters: "{}", sequence: 0 })
        yield* journal.commit([commit(key, -1, { commands: [command("a"), command("b")] })])
        yield* journal.commit([commit(key, 0, { commands: [command("b"), command("c")] })])
        yield* journal.commit([commit(key, 0, { commands: [command("never")] })])
        assert.deepStrictEqual(yield* commandKeys(key), [`${key.id}/a`, `${key.id}/b`, `${key.id}/c`])
      }),
    )
  }
}

/** A commit with something in every part. */
const everything = (key: InstanceKey, expected: number, ...events: Commit["events"]): Commit =>
  commit(key, expected, {
    events,
    snapshot: snapshot(expected + 1),
    clearTimers: "all",
    setTimers: [{ name: "new", entry: expected + 1, due: 10 }],
    commands: [{ key: `${key.id}/${expected}`, slot: "notify", parameters: "{}", sequence: expected + 1 }],
  })
