/** Each execution is a span where a tracer exports spans. */
import { MemoryStore } from "@detent/durable"
import { eventually } from "@detent/store/testing/CommandKit"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { jobs, startWorker } from "../../testing/command/Working.ts"

it.live("an execution is a span with its queue, key and attempt, where a tracer exports spans", () =>
  Effect.gen(function* () {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      },
    })
    const queue = jobs("jobs")
    let done = 0
    const count = () =>
      Effect.sync(() => {
        done++
      })
    yield* Effect.withTracer(startWorker(queue, count), tracer)
    yield* queue.enqueue({ name: "a" }, { key: "job-1" })
    yield* eventually(
      Effect.sync(() => done),
      (count) => count === 1,
    )
    const mine = spans.filter(({ name }) => name.startsWith("command"))
    assert.deepStrictEqual(
      mine.map(({ name, kind, attributes }) => [name, kind, attributes.get("queue"), attributes.get("key"), attributes.get("attempts")]),
      [["command jobs", "consumer", "jobs", "job-1", 1]],
    )
  }).pipe(Effect.provide(MemoryStore.layer)),
)
