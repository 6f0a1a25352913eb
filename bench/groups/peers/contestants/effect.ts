/**
 * Effect's own workflow engine: a cluster of one on the same database, as `SingleRunner` is documented. Messages to other runners are not
 * simulated, because there are none.
 */
import * as PgClient from "@detent/durable/PgClient"
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "effect/cluster/SingleRunner"
import * as Digest from "effect/crypto/Digest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { peerOf } from "../Peer.ts"
import { runningEffect } from "./effectWorkflows.ts"

export const peer = ({ database }: { readonly database: string }) =>
  peerOf((code) =>
    runningEffect(
      ClusterWorkflowEngine.layer.pipe(
        Layer.provideMerge(SingleRunner.layer({ runnerStorage: "memory", shardingConfig: { simulateRemoteSerialization: false } })),
        Layer.provideMerge(PgClient.layer({ url: Redacted.make(database), maxConnections: 32 })),
        Layer.provide(Digest.layerWebCrypto),
      ),
      `select count(distinct m.id) as completed from cluster_messages m join cluster_replies r on r.request_id = m.id
       where m.tag = 'run' and r.kind = 0 and r.payload like '%Complete%'`,
      code,
    ),
  )
