/**
 * The workflows of a configuration as a check runs them: registered with no engine, and with the layers of the configuration built on an
 * empty store in memory, so that nothing of them reaches the stored instances.
 */
import { Engine } from "@detent/durable"
import { type RegisteredWorkflow, registrationsOf } from "@detent/durable/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { type Config, ConfigRefused, fileOf, type ProvidedServices } from "../Config.ts"
import { layerOfWorkflow } from "../config/Workflows.ts"
import { storesIn } from "../Database.ts"
import { Systems } from "../Systems.ts"

type Provided = Exclude<ProvidedServices, WorkflowEngine>

/** By the name of the machine, such as `workflow/trip`. */
export const workflowsOf = (config: Config): Effect.Effect<ReadonlyMap<string, RegisteredWorkflow>, ConfigRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const provided: Context.Context<Provided> = yield* Effect.orDie(Layer.build(emptyWorkspace))
    const memoMap = yield* Layer.makeMemoMap
    const scope = yield* Effect.scope
    const registering = Effect.gen(function* () {
      const services = yield* Effect.context<ProvidedServices>()
      const own = yield* Layer.buildWithMemoMap(config.layers ?? Layer.empty, memoMap, scope)
      const all = Context.merge(services, own as Context.Context<never>)
      for (const one of config.workflows ?? [])
        yield* Effect.provideContext(Layer.buildWithMemoMap(layerOfWorkflow(one), memoMap, scope), all)
    })
    return yield* Effect.provideContext(registrationsOf(registering), provided)
  }).pipe(
    Effect.mapError(
      (cause) =>
        new ConfigRefused({
          file: fileOf(config) ?? "the configuration",
          problem: `its workflows could not be built for the check: ${cause instanceof Error ? cause.message : String(cause)}`,
          nextStep: "build them without the data of the workspace, or check the machines one by one",
        }),
    ),
  )

const emptyWorkspace: Layer.Layer<Provided> = Layer.mergeAll(
  Engine.layer({ observe: true }),
  Layer.succeed(Systems, { knowledge: Option.none(), uploads: Option.none() }),
).pipe(Layer.provideMerge(Layer.orDie(storesIn({ _tag: "Sqlite", file: ":memory:" }))))
