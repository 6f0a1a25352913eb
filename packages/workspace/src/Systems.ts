/**
 * The systems that a workspace may have besides machines: knowledge (batches of documents and their graph) and uploads. Both are
 * off by default. A system that is off is not loaded, and a request for its services fails with the next step.
 */
import { Journal } from "@detent/durable"
import type { Knowledge } from "@detent/knowledge"
import type { activitiesQueue } from "@detent/knowledge/tasks"
import type { PersistenceFailed } from "@detent/machine"
import type { Uploads } from "@detent/uploads"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type SystemName, SystemOff } from "./errors.ts"

/** The services of knowledge: `Batches`, `GraphQuery`, `GraphFacts`, `CanonicalGraph`, `Storage` and others. */
export type KnowledgeServices = Layer.Success<ReturnType<typeof Knowledge.layerOnEngine>>

export interface SystemsService {
  readonly knowledge: Option.Option<Context.Context<KnowledgeServices>>
  readonly uploads: Option.Option<Context.Context<Uploads>>
}

/** The machine of jobs that send an event to many instances. No other machine can have its name. */
export const bulkMachine = "bulk"

/** The machines of each system. Their instances show whether a workspace has data of the system. */
export const machinesOfSystem = { knowledge: ["batch"], uploads: ["UploadBatch", "UploadItem"] } as const satisfies Readonly<
  Record<SystemName, ReadonlyArray<string>>
>

/** The queues of each system, besides the queues of its machines. */
export const queuesOfSystem: Readonly<Record<SystemName, ReadonlyArray<typeof activitiesQueue>>> = {
  knowledge: ["activities"],
  uploads: [],
}

/** States that count as ended: a cancelled batch can be resumed, so its record says running, but it does no work. */
export const restingStates: Readonly<Record<string, ReadonlyArray<string>>> = { batch: ["Cancelled"] }

export class Systems extends Context.Service<Systems, SystemsService>()("@detent/workspace/Systems") {
  /** The services of knowledge, for programs and for the `layers` of a configuration. */
  static readonly knowledge: Layer.Layer<KnowledgeServices, SystemOff, Systems> = Layer.effectContext(
    Effect.suspend(() => Effect.flatMap(Systems, ({ knowledge }) => orOff("knowledge", knowledge))),
  )

  /** The service of uploads. */
  static readonly uploads: Layer.Layer<Uploads, SystemOff, Systems> = Layer.effectContext(
    Effect.suspend(() => Effect.flatMap(Systems, ({ uploads }) => orOff("uploads", uploads))),
  )
}

/** The names of the systems that are on. */
export const systemsOn: Effect.Effect<ReadonlyArray<SystemName>, never, Systems> = Effect.map(
  Effect.suspend(() => Systems),
  ({ knowledge, uploads }) => [
    ...(Option.isSome(knowledge) ? (["knowledge"] as const) : []),
    ...(Option.isSome(uploads) ? (["uploads"] as const) : []),
  ],
)

const orOff = <A>(system: SystemName, services: Option.Option<A>): Effect.Effect<A, SystemOff> =>
  Option.match(services, { onNone: () => Effect.fail(new SystemOff({ system })), onSome: Effect.succeed })

/** Whether the database has instances of a system. */
export const isStored = (system: SystemName): Effect.Effect<boolean, PersistenceFailed, Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal
    for (const machine of machinesOfSystem[system]) {
      const { instances } = yield* journal.list({ machine }, 1)
      if (instances.length > 0) return true
    }
    return false
  })
