import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TaskQueue, type TaskQueueService } from "../../src/tasks/TaskQueue.ts"

/** A queue that delivers each task twice, and every third one late. */
export const twiceAndLate = <R>(queue: Layer.Layer<TaskQueue, never, R>, late: Duration.Input): Layer.Layer<TaskQueue, never, R> =>
  Layer.effect(
    TaskQueue,
    Effect.map(TaskQueue, (inner): TaskQueueService => {
      let count = 0
      return {
        patience: undefined,
        enqueue: (activity, input, { key }) => {
          const delay = count++ % 3 === 0 ? { delay: late } : {}
          return Effect.andThen(
            inner.enqueue(activity, input, { key, ...delay }),
            // Under its key it is the first one. Under another key it is delivered a second time.
            Effect.andThen(inner.enqueue(activity, input, { key }), inner.enqueue(activity, input, { key: `${key}:again`, ...delay })),
          )
        },
      }
    }),
  ).pipe(Layer.provideMerge(queue))
