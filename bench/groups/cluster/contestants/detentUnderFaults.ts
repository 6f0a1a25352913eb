/** A node that is killed, frozen and restarted while it sends. Every event has a unique name, which the proof looks up afterwards. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { Cluster } from "@detent/cluster"
import { Engine, Journal, Placement } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { SqlClient } from "effect/sql/SqlClient"
import type { Abilities } from "../../../measure/Player.ts"
import { E, Toggle } from "../../durable/machines/toggle.ts"
import { hotInstances } from "../Team.ts"
import { token } from "./detent.ts"

export interface FaultOptions {
  readonly database: string
  readonly port: number
  readonly leaseMillis: number
  /** The file to which answered events are appended immediately. */
  readonly notes: string
  /** The name of this process; a restarted one has another. */
  readonly name: string
}

export interface Observed {
  /** The errors of senders. */
  readonly errors: ReadonlyArray<string>
  /** The longest time of a send. */
  readonly longestMillis: number
  /** When the first event that was sent after the start of the observation was answered, by instance. */
  readonly answeredAt: Readonly<Record<string, number>>
}

export interface UnderFaults extends Abilities {
  readonly shards: () => Promise<number>
  /** The instances that this node owns. */
  readonly owned: () => Promise<ReadonlyArray<string>>
  /** Sends to all instances until `pause`. */
  readonly send: () => Promise<void>
  /** Stops the senders once their sends in flight are answered. */
  readonly pause: () => Promise<void>
  /** Starts a new observation. */
  readonly observe: () => Promise<void>
  readonly observed: () => Promise<Observed>
  /** How many commits of this process the fence has refused. */
  readonly fenced: () => Promise<number>
  /** Compares the notes of all processes with the journal. */
  readonly prove: (notes: ReadonlyArray<string>) => Promise<Proof>
}

export interface Proof {
  readonly answered: number
  readonly lost: number
  readonly doubled: number
}

/** The pause between an answer and the next send: the load is steady, not the maximum. */
const pauseMillis = 5

export const underFaults = async ({
  database,
  port,
  leaseMillis,
  notes,
  name,
}: FaultOptions): Promise<UnderFaults & { close(): Promise<void> }> => {
  let fenced = 0
  const countingFences = Layer.effect(
    Journal,
    Effect.map(Journal, (journal) => ({
      ...journal,
      commit: (commits) =>
        Effect.tap(journal.commit(commits), (outcomes) =>
          Effect.sync(() => {
            fenced += outcomes.filter(({ _tag }) => _tag === "Fenced").length
          }),
        ),
    })),
  )
  const runtime = ManagedRuntime.make(
    Engine.layer().pipe(
      Layer.provideMerge(Cluster.layer({ address: `127.0.0.1:${port}`, token, lease: leaseMillis })),
      Layer.provideMerge(countingFences),
      Layer.provideMerge(PostgresStore.layer({ url: database })),
    ),
  )
  const { routing } = await runtime.runPromise(Effect.map(Placement, (placement) => placement))
  await runtime.runPromise(Effect.flatMap(Engine, (engine) => engine.register(Toggle)))
  const ids = Array.from({ length: hotInstances }, (_, index) => `toggle-${index}`)
  let isSending = false
  let sent = 0
  let since = 0
  let errors: Array<string> = []
  let longestMillis = 0
  let answeredAt: Record<string, number> = {}

  const sender = (id: string) =>
    Effect.gen(function* () {
      const instance = yield* Effect.flatMap(Engine, (engine) => engine.ensure(Toggle, id))
      while (isSending) {
        const event = `${name}/${sent++}`
        const begun = Date.now()
        yield* Effect.match(instance.send(E.Turn({ payload: event })), {
          onSuccess: () => {
            appendFileSync(notes, `${event}\n`)
            longestMillis = Math.max(longestMillis, Date.now() - Math.max(begun, since))
            if (begun >= since) answeredAt[id] ??= Date.now()
          },
          onFailure: (error) => {
            errors.push(`${error._tag}: ${error.message}`)
          },
        })
        yield* Effect.sleep(pauseMillis)
      }
    })
  let sending: Fiber.Fiber<void, unknown> | undefined

  return {
    shards: async () => routing?.shards().held.length ?? 0,
    owned: async () => ids.filter((id) => routing?.isLocal({ machine: Toggle.name, id })),
    send: async () => {
      isSending = true
      sending = runtime.runFork(Effect.forEach(ids, sender, { concurrency: "unbounded", discard: true }))
    },
    pause: async () => {
      isSending = false
      if (sending !== undefined) await runtime.runPromise(Fiber.join(sending))
    },
    observe: async () => {
      since = Date.now()
      errors = []
      longestMillis = 0
      answeredAt = {}
    },
    observed: async () => ({ errors, longestMillis, answeredAt }),
    fenced: async () => fenced,
    prove: async (files) => {
      const answered = files.flatMap(eventsNoted)
      const journaled = new Map<string, number>()
      for (const event of await runtime.runPromise(readPayloads)) journaled.set(event, (journaled.get(event) ?? 0) + 1)
      return {
        answered: answered.length,
        lost: answered.filter((event) => !journaled.has(event)).length,
        doubled: [...journaled.values()].filter((count) => count > 1).length,
      }
    },
    close: () => runtime.dispose(),
  }
}

const readPayloads = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ readonly body: string }>`select body from detent.events`
  return rows.map(({ body }) => /"payload":"([^"]*)"/.exec(body)?.[1] ?? "")
})

/** The last line may be cut off by the kill. */
const eventsNoted = (notes: string): ReadonlyArray<string> =>
  existsSync(notes) ? readFileSync(notes, "utf8").split("\n").slice(0, -1) : []
