/** Model-based test: any sequence of operations has the same results as on a plain map of names to contents. */

import { compareText } from "@detent/machine/internal"
import { assert, type Vitest } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  blobIn,
  Generation,
  getText,
  ifAbsent,
  ifGeneration,
  type Precondition,
  type Storage,
  type StorageFolder,
  type StorageService,
  type StorageUri,
} from "../src/storage/Storage.ts"
import type { Fresh } from "./storageContention.ts"

const name = Schema.Literals(["a", "b/c", "b/d", "e f/ø"])

const Operation = Schema.Struct({
  name,
  operation: Schema.Literals(["set", "remove", "get", "list"]),
  content: Schema.String.check(Schema.isMaxLength(20)),
  /** The writer's precondition: none, that the blob is absent, its current generation, or the generation one write ago. */
  belief: Schema.Literals(["none", "absent", "current", "stale"]),
})
type Operation = typeof Operation.Type

interface Entry {
  readonly content: string
  readonly generation: Generation
  readonly before: Generation
}

const never = Generation.make("1")

const preconditionOf = (belief: Operation["belief"], entry: Entry | undefined): Precondition | undefined => {
  if (belief === "none") return undefined
  if (belief === "absent") return ifAbsent
  return ifGeneration((belief === "current" ? entry?.generation : entry?.before) ?? never)
}

const isMet = (belief: Operation["belief"], entry: Entry | undefined): boolean =>
  belief === "none" ||
  (belief === "absent" ? entry === undefined : entry !== undefined && (belief === "current" || entry.before === entry.generation))

const apply = (storage: StorageService, folder: StorageFolder, model: Map<StorageUri, Entry>, step: Operation) =>
  Effect.gen(function* () {
    const uri = blobIn(folder, step.name)
    const entry = model.get(uri)
    if (step.operation === "list") {
      const listed = yield* Stream.runCollect(storage.list(folder))
      const expected = [...model].sort(([a], [b]) => compareText(a, b)).map(([uri, { generation }]) => ({ uri, generation }))
      return assert.deepStrictEqual(
        listed.map(({ uri, generation }) => ({ uri, generation })),
        expected,
      )
    }
    if (step.operation === "get") {
      const text = yield* Effect.option(getText(storage, uri))
      return assert.strictEqual(text._tag === "Some" ? text.value : undefined, entry?.content)
    }
    const content = step.content.toWellFormed()
    const precondition = preconditionOf(step.belief, entry)
    if (step.operation === "remove") {
      const exit = yield* Effect.exit(storage.remove(uri, precondition))
      assert.strictEqual(exit._tag === "Success", isMet(step.belief, entry))
      if (exit._tag === "Success") assert.strictEqual(exit.value, model.delete(uri))
      return
    }
    const exit = yield* Effect.exit(storage.set(uri, content, precondition))
    assert.strictEqual(exit._tag === "Success", isMet(step.belief, entry))
    if (exit._tag === "Success") model.set(uri, { content, generation: exit.value.generation, before: entry?.generation ?? never })
  })

export const registerAgreement = (it: Vitest.MethodsNonLive<Storage>, fresh: Fresh, runs: number): void =>
  it.effect.prop(
    "any sequence of operations has the same results as on a map",
    [Arbitrary.array(Arbitrary.schema(Operation), { minLength: 5, maxLength: 30 })],
    ([steps]) =>
      Effect.gen(function* () {
        const { storage, folder } = yield* fresh
        const model = new Map<StorageUri, Entry>()
        for (const step of steps) yield* apply(storage, folder, model, step)
      }),
    { arbitrary: { runs } },
  )
