/**
 * The entry point of a worker process, which serves the tasks of this package. The name of a task begins with its kind. The modules of a
 * kind are loaded on first use, so that a worker starts sooner.
 */
import type { TaskHandlers } from "@detent/processes"
import { serve } from "@detent/processes/Serving"

const kinds: Readonly<Record<string, () => Promise<TaskHandlers>>> = {
  document: async () => (await import("./document/DocumentReader.ts")).tasks,
  text: async () => (await import("./extract/TextOnWorkers.ts")).tasks,
  ontology: async () => (await import("./ontology/OntologyLoading.ts")).tasks,
  "built-in": async () => (await import("./extract/builtin/BuiltInReader.ts")).makeBuiltInTasks(),
  resolution: async () => (await import("./resolve/ResolvedGraph.ts")).tasks,
  validation: async () => (await import("./validate/WorkerValidation.ts")).tasks,
  graph: async () => (await import("./graph/GraphStore.ts")).makeGraphStore(),
}

/** Each kind is loaded once, and keeps its prepared data. */
const findTask = () => {
  const loaded = new Map<string, Promise<TaskHandlers>>()
  return async (task: string) => {
    const [kind = "", name = ""] = task.split(".")
    const load = kinds[kind]
    if (load === undefined) return undefined
    const tasks = loaded.get(kind) ?? load()
    loaded.set(kind, tasks)
    try {
      return (await tasks)[name]
    } catch (error) {
      // The next task loads it again.
      if (loaded.get(kind) === tasks) loaded.delete(kind)
      throw error
    }
  }
}

// Without a pool that started it, there is nothing to serve.
if (process.send !== undefined) serve(findTask())
