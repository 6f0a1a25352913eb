import type { Commands } from "@detent/durable"
import type * as Layer from "effect/Layer"
import * as CloudTasks from "./CloudTasks.ts"
import { TaskQueue } from "./TaskQueue.ts"
import type { TaskSettings } from "./TaskSettings.ts"

/** The queue that the settings choose. Default: the durable one. */
export const taskQueueOf = (settings: TaskSettings = { queue: "durable" }): Layer.Layer<TaskQueue, never, Commands> => {
  switch (settings.queue) {
    case "durable":
      return TaskQueue.layerDurable
    case "memory":
      return TaskQueue.layerMemory
    case "cloud-tasks":
      return CloudTasks.layer(settings)
  }
}
