/** The work of this package that workers do. What a kind of work needs is loaded when it is first asked for: a worker starts sooner. */
import type { ReadCsvInput, ReadDocumentInput } from "../document/DocumentTasks.ts"
import type { ExamplesText } from "../extract/builtin/Example.ts"
import type { FactsInput, ReadInput, SharedReader, TrainInput } from "../extract/builtin/BuiltInTasks.ts"
import type { LoadInput, QueryInput } from "../graph/GraphStore.ts"
import type { OntologySource } from "../ontology/OntologyLoading.ts"
import type { ResolveInput } from "../resolve/ResolutionTask.ts"
import type { ShapesText, ValidationTaskInput } from "../validate/ValidationTask.ts"
import type { TaskHandler } from "./Serving.ts"
import type { TaskChannel } from "./TaskChannel.ts"

/** Makes something when it is first asked for. */
const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => (made ??= make())
}

/** The tasks of one worker. */
export const makeTasks = () => {
  const documents = once(() => import("../document/DocumentTasks.ts"))
  const ontologies = once(() => import("../ontology/LoadingTask.ts"))
  const builtIn = once(async () => (await import("../extract/builtin/BuiltInTasks.ts")).makeBuiltInTasks())
  const examples = once(() => import("../extract/builtin/Example.ts"))
  const resolution = once(() => import("../resolve/ResolutionTask.ts"))
  const validation = once(() => import("../validate/ValidationTask.ts"))
  const graph = once(async () => (await import("../graph/GraphStore.ts")).makeGraphStore())
  return {
    "document.read": async (input: ReadDocumentInput) => (await documents()).documentText(input),
    "document.csv": async (input: ReadCsvInput) => (await documents()).csvText(input),
    "ontology.load": async (source: OntologySource) => (await ontologies()).loadingTask(source),
    "examples.check": async (source: ExamplesText) => (await examples()).examplesTask(source),
    "built-in.train": async (input: TrainInput) => (await builtIn()).train(input),
    "built-in.read": async (input: ReadInput, shared: SharedReader) => (await builtIn()).read(input, shared),
    "built-in.facts": async (input: FactsInput, shared: SharedReader) => (await builtIn()).facts(input, shared),
    "graph.resolve": async (input: ResolveInput, _: never, channel: TaskChannel) => (await resolution()).resolutionTask(input, channel),
    "shapes.check": async (shapes: ShapesText) => (await validation()).shapesTask(shapes),
    "graph.validate": async (input: ValidationTaskInput, _: never, channel: TaskChannel) =>
      (await validation()).validationTask(input, channel),
    "graph.load": async (input: LoadInput, _: never, channel: TaskChannel) => (await graph()).load(input, channel),
    "graph.query": async (input: QueryInput, _: never, channel: TaskChannel) => (await graph()).query(input, channel),
  } satisfies Record<string, TaskHandler>
}

export type TaskName = keyof ReturnType<typeof makeTasks>
