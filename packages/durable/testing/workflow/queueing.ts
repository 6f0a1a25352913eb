/** Effect's durable queues: a workflow hands work to workers elsewhere and sleeps until it is done. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import * as Schema from "effect/Schema"
import * as DurableQueue from "effect/workflow/DurableQueue"
import * as Workflow from "effect/workflow/Workflow"
import { Calls } from "./Calls.ts"
import type { Kit } from "./Rig.ts"

const Resizing = DurableQueue.make({
  name: "resizing",
  payload: { image: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ image }) => image,
})

const Gallery = Workflow.make("Gallery", {
  payload: { id: Schema.String, images: Schema.Array(Schema.String) },
  success: Schema.Array(Schema.String),
  error: Schema.String,
  idempotencyKey: ({ id }) => id,
})

const queues = PersistedQueue.layer.pipe(Layer.provide(PersistedQueue.layerStoreMemory))

export const queueing = ({ describe, test }: Kit) => {
  describe("durable queues", () => {
    test("work is done by a worker once, and its result or failure wakes the execution", ({ open, pass, until }) =>
      Effect.gen(function* () {
        const calls = new Calls()
        const workflows = Layer.merge(
          Gallery.toLayer(({ images }) =>
            Effect.gen(function* () {
              yield* calls.activity("prepare")
              return yield* Effect.forEach(images, (image) => DurableQueue.process(Resizing, { image }))
            }),
          ),
          DurableQueue.worker(
            Resizing,
            ({ image }) =>
              Effect.andThen(
                calls.note(image),
                image === "broken.png" ? Effect.fail(`${image} is not an image`) : Effect.succeed(`small ${image}`),
              ),
            { concurrency: 2 },
          ),
        ).pipe(Layer.provide(queues))
        const { run } = yield* open(workflows)
        let results: ReadonlyArray<unknown> | undefined
        yield* Effect.forkChild(
          Effect.map(
            run(
              Effect.all([
                Gallery.execute({ id: "good", images: ["a.png", "b.png"] }),
                Effect.flip(Gallery.execute({ id: "bad", images: ["c.png", "broken.png"] })),
              ]),
            ),
            (both) => {
              results = both
            },
          ),
        )
        for (let second = 0; second < 60 && results === undefined; second++) yield* pass("1 second")
        yield* until(() => results !== undefined)
        expect(results).toEqual([["small a.png", "small b.png"], "broken.png is not an image"])
        expect(calls.all.toSorted()).toEqual(["a.png", "b.png", "broken.png", "c.png", "prepare", "prepare"])
      }))
  })
}
