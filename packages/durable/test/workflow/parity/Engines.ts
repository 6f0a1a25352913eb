/** The two engines, each on a SQLite file; ours on PostgreSQL too. */

import { Journal } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteClient from "@detent/store/SqliteClient"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../../src/DurableWorkflow.ts"
import { Deeds } from "./Deeds.ts"
import { type Program, programs } from "./Programs.ts"

export type EngineName = "detent" | "effect"

const queues = PersistedQueue.layer.pipe(
  Layer.provide(PersistedQueue.layerStoreSql({ pollInterval: 50, lockRefreshInterval: 200, lockExpiration: 1000 })),
  Layer.orDie,
)

const workflows = (deeds: (program: Program) => Deeds) => {
  const [first, ...others] = programs.map((program) => program.workflows(deeds(program)))
  return Layer.mergeAll(first ?? Layer.empty, ...others)
}

/** Everything a process needs to run the programs. With the address of a PostgreSQL, ours keeps them there. */
export const engineOn = (name: EngineName, folder: string, url?: string): Layer.Layer<WorkflowEngine> => {
  const file = `${folder}/deeds`
  if (name === "effect") {
    const cluster = SingleRunner.layer({
      // A process that was killed does not wait for its own locks to end.
      runnerStorage: "memory",
      shardingConfig: { entityMessagePollInterval: 50, entityReplyPollInterval: 50 },
    })
    return workflows(({ name: program }) => new Deeds(file, program)).pipe(
      Layer.provideMerge(ClusterWorkflowEngine.layer),
      Layer.provide(queues),
      Layer.provide(cluster),
      Layer.provide(Digest.layerWebCrypto),
      Layer.provide(SqliteClient.layer({ filename: `${folder}/effect.db` })),
      Layer.orDie,
    )
  }
  return Layer.unwrap(
    Effect.map(Journal, (journal) => workflows(({ name: program }) => new Deeds(file, program, journal)).pipe(Layer.provide(queues))),
  ).pipe(
    Layer.provideMerge(DurableWorkflow.layer({ nodeId: "only" })),
    Layer.provide(url === undefined ? SqliteStore.layer({ filename: `${folder}/detent.db` }) : PostgresStore.layer({ url })),
    Layer.orDie,
  )
}
