/**
 * A process that accepts all facts of a review list, or withdraws a batch, and kills itself the moment it would write a file, or has
 * written it.
 */
import { flushCompileCache } from "node:module"
import { FileStorage } from "@detent/blobs"
import { Storage, type StorageService } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Batches } from "../../src/batch/Batches.ts"
import { Extractor } from "../../src/extract/Extractor.ts"
import * as Knowledge from "../../src/Knowledge.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import { Reviews } from "../../src/verdict/Reviews.ts"
import { hesitant } from "./unsure.ts"

// A killed process does not write its cache of compiled modules, so this one does it before.
flushCompileCache()

const [data = "", database = "", batch = "", file = "", moment = "", action = "accept"] = process.argv.slice(2)

const die = Effect.sync(() => process.kill(process.pid, "SIGKILL"))

const deadly = (files: StorageService): StorageService => ({
  ...files,
  set: (uri, content, condition) => {
    const write = files.set(uri, content, condition)
    if (!uri.endsWith(file)) return write
    return moment === "before" ? Effect.andThen(die, write) : Effect.tap(write, die)
  },
})

const live = Knowledge.layer({
  folder: data,
  nodeId: "reviewer",
  extractors: Extractors.layer.pipe(Layer.provide(Layer.succeed(Extractor, hesitant()))),
  storage: Layer.effect(Storage, Effect.map(FileStorage.make({ root: data, readable: [] }), deadly)),
}).pipe(Layer.provideMerge(SqliteStore.layer({ filename: database })))

const id = BatchId.make(batch)
const work = Effect.gen(function* () {
  if (action === "withdraw") yield* (yield* Batches).withdraw(id)
  else yield* (yield* Reviews).accept(id, { all: true }, "ada")
})

await Effect.runPromise(Effect.provide(work, live))
