/** The program of one node: it owns a share of the meters, and sends readings to all of them. */
import { Cluster } from "@detent/cluster"
import { Engine } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { E, Meter, meters } from "./Meter.ts"
import type { NodeSettings, Report } from "./NodeProcess.ts"

const settings: NodeSettings = JSON.parse(process.argv[2] ?? "{}")
const { url, address, token, lease } = settings

/** Time between the answer to a reading and the next reading of the same meter. */
const pause = "20 millis"

let isSending = false
let answered: Array<string> = []
let failed = 0
process.on("message", (message: { readonly isSending: boolean }) => {
  isSending = message.isSending
})

const readMeter = (id: string) =>
  Effect.gen(function* () {
    const meter = yield* Effect.flatMap(Engine, (engine) => engine.ensure(Meter, id))
    for (let number = 0; ; number++) {
      // Each reading has a unique name, so that the proof finds a reading that is stored twice.
      const reading = `${process.pid}/${id}/${number}`
      if (isSending) {
        yield* Effect.match(meter.send(E.Read({ reading, amount: 1 })), {
          onSuccess: () => answered.push(reading),
          onFailure: () => failed++,
        })
      }
      yield* Effect.sleep(pause)
    }
  })

const reporting = Effect.gen(function* () {
  const cluster = yield* Cluster
  for (;;) {
    process.send?.({ shards: cluster.shards(), answered, failed } satisfies Report)
    answered = []
    yield* Effect.sleep("100 millis")
  }
})

const work = Effect.gen(function* () {
  yield* Effect.flatMap(Engine, (engine) => engine.register(Meter))
  yield* Effect.all([reporting, ...meters.map(readMeter)], { concurrency: "unbounded", discard: true })
})

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const node = Engine.layer().pipe(Layer.provideMerge(Cluster.layer({ address, token, lease })), Layer.provide(PostgresStore.layer({ url })))

const running = Effect.runFork(Effect.provide(work, node))
process.once("SIGTERM", () => running.interruptUnsafe())
// The node ends with the process that started it.
process.once("disconnect", () => running.interruptUnsafe())
running.addObserver((exit) => {
  const isFailed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
  if (isFailed) process.stderr.write(`node ${address}: ${messageOf(Cause.squash(exit.cause))}\n`)
  process.exit(isFailed ? 1 : 0)
})
