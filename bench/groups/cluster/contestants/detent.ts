/** Detent's engine: as a node of a cluster, and as a process that shares the database with others without one. */
import { Cluster, type ClusterError } from "@detent/cluster"
import { Engine, type Leases, Placement } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { SqlClient } from "effect/sql/SqlClient"
import { countRows } from "../../durable/contestants/detent.ts"
import { E, payload, Toggle } from "../../durable/machines/toggle.ts"
import { sendFor } from "../Senders.ts"
import { hotInstances, type MemberOptions } from "../Team.ts"

export const token = "a secret of the measurement, which ends with it"

export const node = (options: MemberOptions) => sending(options, Cluster.layer({ address: `127.0.0.1:${options.port}`, token }))

export const alone = (options: MemberOptions) => sending(options, Placement.leases())

const sending = async ({ database, senders }: MemberOptions, placing: Layer.Layer<Placement, ClusterError, Leases | SqlClient>) => {
  const layer = Engine.layer().pipe(Layer.provideMerge(placing), Layer.provideMerge(PostgresStore.layer({ url: database })))
  const runtime = ManagedRuntime.make(layer)
  const { routing } = await runtime.runPromise(Effect.map(Placement, (placement) => placement))
  const open = Effect.flatMap(Engine, (engine) =>
    Effect.forEach(
      Array.from({ length: hotInstances }, (_, index) => `toggle-${index}`),
      (id) => Effect.map(engine.ensure(Toggle, id), (instance) => ({ id, send: Effect.suspend(() => instance.send(E.Turn({ payload }))) })),
      { concurrency: hotInstances },
    ),
  )
  await runtime.runPromise(Effect.flatMap(Engine, (engine) => engine.register(Toggle)))
  let instances: Effect.Success<typeof open> | undefined
  return {
    play: async (millis: number, targets: "all" | "own" | "others") => {
      instances ??= await runtime.runPromise(open)
      const isOwn = (id: string) => routing?.isLocal({ machine: Toggle.name, id }) ?? true
      const chosen = instances.filter(({ id }) => targets === "all" || isOwn(id) === (targets === "own"))
      const sends = Array.from({ length: senders }, (_, index) => chosen[index % chosen.length]?.send ?? Effect.never)
      return sendFor(millis, sends, (effect) => runtime.runPromise(effect))
    },
    stored: () => runtime.runPromise(countRows("detent.events")),
    shards: async () => routing?.shards().held.length ?? 0,
    close: () => runtime.dispose(),
  }
}
