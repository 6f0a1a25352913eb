/** The rules of leases and fences, as tests in real time: a database's clock cannot be moved. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { Journal } from "../src/contract/Journal.ts"
import type { Lease, LeasesService } from "../src/contract/Leases.ts"
import { Leases } from "../src/contract/Leases.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, freshKey, stored } from "./samples.ts"

export const leasesConformance = <R = never>(name: string, store: StoreLayer<R>): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: leases`, (it) => {
    it.effect("100 a lease that is held tells by whom and until when", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const lease = yield* acquired(yield* freshName, "first", 60_000)
        assert.deepStrictEqual(yield* leases.acquire(lease.name, "second", 60_000), { _tag: "Busy", holder: lease })
        assert.deepStrictEqual(yield* heldAs(leases, lease.name), lease)
      }),
    )

    it.effect("94 101 a lease that is over can be taken, under a greater token", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const first = yield* acquired(yield* freshName, "first", 30)
        yield* Effect.sleep("60 millis")
        assert.isTrue(Option.isNone(yield* leases.get(first.name)))
        const second = yield* acquired(first.name, "second", 60_000)
        assert.isAbove(second.token, first.token)
      }),
    )

    it.effect("95 only the holder prolongs, and from now on", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const lease = yield* acquired(yield* freshName, "first", 10_000)
        const extended = Option.getOrThrow(yield* leases.extend(lease, 60_000))
        assert.isAbove(extended.expiresAt, lease.expiresAt)
        assert.strictEqual(extended.token, lease.token)
        assert.isTrue(Option.isNone(yield* leases.extend({ ...lease, owner: "second" }, 60_000)))
        assert.isTrue(Option.isNone(yield* leases.extend({ ...lease, token: lease.token + 1 }, 60_000)))
        assert.deepStrictEqual(yield* heldAs(leases, lease.name), extended)
      }),
    )

    it.effect("96 a lease that is given back is free at once, and its tokens keep growing", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const first = yield* acquired(yield* freshName, "first", 60_000)
        assert.isTrue(yield* leases.release(first))
        assert.isTrue(Option.isNone(yield* leases.get(first.name)))
        const second = yield* acquired(first.name, "second", 60_000)
        assert.strictEqual(second.token, first.token + 1)
      }),
    )

    it.effect("102 two who are the same owner exclude each other; of a hundred one gets it", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const lease = yield* freshName
        const racers = Array.from({ length: 100 }, () => leases.acquire(lease, "node", 60_000))
        const results = yield* Effect.all(racers, { concurrency: "unbounded" })
        assert.strictEqual(results.filter(({ _tag }) => _tag === "Acquired").length, 1)
      }),
    )

    it.effect("160 leases that ended long ago are removed, and their tokens keep growing", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const [gone, held] = [yield* freshName, yield* freshName]
        for (let token = 1; token < 4; token++) yield* leases.release(yield* acquired(gone, "first", 60_000))
        const last = yield* acquired(gone, "first", 60_000)
        yield* leases.release(last)
        const kept = yield* acquired(held, "first", 60_000)
        assert.isAtLeast(yield* leases.purge(0, 1_000), 1)
        assert.deepStrictEqual(yield* heldAs(leases, held), kept)
        assert.isAbove((yield* acquired(gone, "second", 60_000)).token, last.token)
        // One that its holder did not release, because it was killed.
        const expired = yield* acquired(yield* freshName, "killed", 1)
        yield* Effect.sleep("20 millis")
        yield* leases.purge(3_600_000, 1_000)
        assert.strictEqual(yield* leases.purge(0, 1_000), 1)
        assert.isAbove((yield* acquired(expired.name, "second", 60_000)).token, expired.token)
      }),
    )

    it.effect("104 a lost token neither prolongs nor gives back", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const lost = yield* acquired(yield* freshName, "first", 30)
        yield* Effect.sleep("60 millis")
        assert.isTrue(Option.isNone(yield* leases.extend(lost, 60_000)), "what is over is over, even if no other node took it")
        assert.isFalse(yield* leases.release(lost))
        const held = yield* acquired(lost.name, "first", 60_000)
        assert.isTrue(Option.isNone(yield* leases.extend(lost, 60_000)))
        assert.isFalse(yield* leases.release(lost))
        assert.deepStrictEqual(yield* heldAs(leases, lost.name), held)
      }),
    )

    it.effect("lists the leases that are held, by the beginning of their names", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const name = yield* freshName
        const [second, first] = [yield* acquired(`${name}/b`, "one", 60_000), yield* acquired(`${name}/a`, "two", 60_000)]
        yield* leases.release(yield* acquired(`${name}/c`, "three", 60_000))
        yield* acquired(`${name}`.slice(0, -1), "four", 60_000)
        assert.deepStrictEqual(yield* leases.held(`${name}/`, 10), [first, second])
        assert.deepStrictEqual(yield* leases.held(`${name}/`, 1), [first])
      }),
    )

    it.effect("109 a commit under a token that is not the newest is refused, and harms no other", () =>
      Effect.gen(function* () {
        const leases = yield* Leases
        const journal = yield* Journal
        const key = yield* freshKey
        const other = { ...key, id: `${key.id}-other` }
        const old = yield* acquired(yield* freshName, "first", 60_000)
        yield* journal.commit([commit(key, -1, { fence: { lease: old.name, token: old.token } })])
        yield* leases.release(old)
        const held = yield* acquired(old.name, "second", 60_000)
        const fenced = { _tag: "Fenced", newest: held.token } as const
        const zombie = { lease: old.name, token: old.token }
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { fence: zombie }), commit(other, -1)]), [fenced, stored])
        assert.deepStrictEqual(yield* journal.commit([commit({ ...key, id: "new" }, -1, { fence: zombie })]), [fenced])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { fence: { lease: held.name, token: held.token } })]), [stored])
        const unknown = yield* journal.commit([commit(key, 1, { fence: { lease: `${old.name}-unknown`, token: 1 } })])
        assert.deepStrictEqual(unknown, [{ _tag: "Fenced", newest: 0 }])
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 1)
      }),
    )
  })

const freshName: Effect.Effect<string> = Effect.map(Random.nextIntBetween(0, 2 ** 40), (number) => `lease-${number}`)

const acquired = (name: string, owner: string, millis: number): Effect.Effect<Lease, unknown, Leases> =>
  Effect.flatMap(Leases, (leases) =>
    Effect.flatMap(leases.acquire(name, owner, millis), (result) =>
      result._tag === "Acquired" ? Effect.succeed(result.lease) : Effect.fail(result),
    ),
  )

/** The lease that is held under a name, once its remaining time has been checked. */
const heldAs = (leases: LeasesService, name: string) =>
  Effect.map(leases.get(name), (found) => {
    const { remainingMillis = 0, ...lease } = Option.getOrThrow(found)
    assert.isAbove(remainingMillis, 0)
    assert.isAtMost(remainingMillis, 60_000)
    return lease
  })
