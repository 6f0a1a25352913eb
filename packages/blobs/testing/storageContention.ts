/** The rules of a storage under concurrent use. */

import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import {
  getText,
  ifAbsent,
  ifGeneration,
  type Storage,
  type StorageError,
  type StorageFolder,
  type StorageService,
  type StorageUri,
} from "../src/storage/Storage.ts"

/** A fresh folder and address for one test. */
export type Fresh = Effect.Effect<
  { readonly storage: StorageService; readonly folder: StorageFolder; readonly uri: StorageUri },
  never,
  Storage
>

/** Increments the number in a blob, with retries while others do the same. */
export const countUp = (storage: StorageService, uri: StorageUri): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    const blob = yield* storage.get(uri)
    const next = Number(new TextDecoder().decode(blob.bytes)) + 1
    yield* storage.set(uri, String(next), ifGeneration(blob.generation))
  }).pipe(Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }))

export const registerContention = (it: Vitest.MethodsNonLive<Storage>, fresh: Fresh, losesAnswers: boolean): void => {
  /** Whether the effect is known to have succeeded. */
  const settled = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>): Effect.Effect<boolean, E> =>
    Effect.as(effect, true).pipe(
      Effect.catchIf(
        (error) => losesAnswers && error._tag === "StorageFailed",
        () => Effect.succeed(false),
      ),
    )

  it.effect("of many concurrent writers with ifAbsent, one succeeds", () =>
    Effect.gen(function* () {
      const { storage, uri } = yield* fresh
      const tries = Array.from({ length: 20 }, (_, number) => Effect.exit(storage.set(uri, String(number), ifAbsent)))
      const exits = yield* Effect.all(tries, { concurrency: "unbounded" })
      const winners = exits.flatMap((exit, number) => (exit._tag === "Success" ? [String(number)] : []))
      assert.strictEqual(winners.length, 1)
      assert.strictEqual(yield* getText(storage, uri), winners[0])
    }),
  )

  it.effect("no update is lost among concurrent writers that set at a generation", () =>
    Effect.gen(function* () {
      const { storage, uri } = yield* fresh
      yield* storage.set(uri, "0")
      const worker = Effect.replicateEffect(settled(countUp(storage, uri)), 5)
      const known = yield* Effect.all(
        Array.from({ length: 8 }, () => worker),
        { concurrency: "unbounded" },
      )
      const counted = Number(yield* getText(storage, uri))
      assert.isAtLeast(counted, known.flat().filter((isKnown) => isKnown).length)
      assert.isAtMost(counted, 40)
      if (!losesAnswers) assert.strictEqual(counted, 40)
    }),
  )

  it.effect("a reader sees one complete write, never a mixture", () =>
    Effect.gen(function* () {
      const { storage, uri } = yield* fresh
      const content = (letter: string) => letter.repeat(600_000)
      yield* storage.set(uri, content("a"))
      const writing = Effect.forEach([..."bcdefghijk"], (letter) => settled(storage.set(uri, content(letter))))
      const isWhole = (text: string) => text.length === 600_000 && text === content(text[0] ?? "")
      const reading = Effect.gen(function* () {
        for (let round = 0; round < 10; round++) {
          yield* settled(Effect.map(getText(storage, uri), (text) => assert.isTrue(isWhole(text))))
          yield* settled(Effect.map(Stream.mkString(Stream.decodeText(storage.getStream(uri))), (text) => assert.isTrue(isWhole(text))))
        }
      })
      yield* Effect.all([writing, reading, reading], { concurrency: "unbounded" })
    }),
  )
}
