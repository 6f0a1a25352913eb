/** Two writers add to one list in a folder. A write whose list has changed meanwhile is refused, and tried again on the new list. */
import { blobIn, getText, ifGeneration, Storage, StorageLocation } from "@detent/blobs"
import * as Effect from "effect/Effect"

const location = process.argv[2] ?? "data"
const list = blobIn(StorageLocation.folderAt(location), "names.txt")

const add = (name: string) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const { bytes, generation } = yield* storage.get(list)
    yield* storage.set(list, `${new TextDecoder().decode(bytes)}${name}\n`, ifGeneration(generation))
  }).pipe(Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }))

const program = Effect.gen(function* () {
  const storage = yield* Storage
  yield* storage.set(list, "")
  yield* Effect.all([add("Ada"), add("Grace")], { concurrency: 2 })
  console.log((yield* getText(storage, list)).trim().split("\n").sort().join(" and "))
})

await Effect.runPromise(Effect.provide(program, StorageLocation.layer({ location })))
