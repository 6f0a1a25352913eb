import * as clients from "@detent/api/client"
import { FileStorage, Storage, type StorageService } from "@detent/blobs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { within } from "../../../store/test/support/patience.ts"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { corpus, served, temporaryFolder } from "../support/served.ts"

/** A server whose batches stay in the resolving stage: its work waits at its first file, and takes a second to end when it is interrupted. */
const servedWithSlowStage = Effect.gen(function* () {
  const reached = yield* Deferred.make<void>()
  const slow = Effect.andThen(
    Deferred.succeed(reached, undefined),
    Effect.onInterrupt(Effect.never, () => Effect.sleep("1 second")),
  )
  const waiting = (files: StorageService): StorageService => {
    const before = (uri: string) => (uri.includes("/resolution/merged-") ? slow : Effect.void)
    return {
      ...files,
      set: (uri, content, precondition) => Effect.andThen(before(uri), files.set(uri, content, precondition)),
      setStream: (uri, content, precondition) => Effect.andThen(before(uri), files.setStream(uri, content, precondition)),
    }
  }
  const data = yield* temporaryFolder
  const storage = Layer.effect(Storage, Effect.map(Storage, waiting)).pipe(
    Layer.provide(FileStorage.layer({ root: data, readable: [corpus] })),
  )
  return { ...(yield* served({ data, knowledge: { storage } })), reached: Deferred.await(reached) }
})

describe("progress of a batch that is cancelled in the middle of its work", () => {
  it.live.each(["http", "socket"] as const)("150 ends with the cancelled state while the work is still ending, over %s", (protocol) =>
    Effect.gen(function* () {
      const { url, reached } = yield* servedWithSlowStage
      const rpc = yield* protocol === "http" ? clients.makeRpcClient({ url }) : clients.makeRpcSocketClient({ url })
      const { batchId } = yield* rpc.batch_start({ folder: corpusFolder, manifest: smallManifest as never })
      const progress = yield* Effect.forkChild(Stream.runCollect(rpc.batch_streamProgress({ batchId })), { startImmediately: true })
      yield* reached
      yield* rpc.batch_cancel({ batchId })
      assert.strictEqual((yield* rpc.batch_getStatus({ batchId })).state, "Cancelled")
      const states = yield* within("10 seconds")(Fiber.join(progress))
      assert.strictEqual(states.at(-1)?.state, "Cancelled")
    }),
  )
})
