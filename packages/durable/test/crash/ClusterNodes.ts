/** Worker processes as the nodes of a cluster, each with an address of its own that it keeps when it is started again. */
import * as Effect from "effect/Effect"
import { freePort } from "../../../store/test/support/freePort.ts"
import { startProxy } from "../../../store/test/support/Proxy.ts"
import { scaled } from "../../../store/test/support/patience.ts"

const token = "a secret of the tests that is long enough"

export const lease = 2000

/** A busy machine takes its time to hand instances over: callers get no error for that. */
const patience = scaled(30_000)

/** Answers of the machines, not errors of the cluster. */
const refusals = new Set(["InvalidTransition", "TransitionRefused", "MachineStopped"])

export const troubles = (failures: ReadonlyArray<string>): ReadonlyArray<string> => failures.filter((failure) => !refusals.has(failure))

/** What a node at this address is opened with. */
export const nodeAt = (address: string) => ({ cluster: { address, token, lease, patience } })

/** One more can join, under the number after theirs. */
export const clusterNodes = (url: string, count: number) =>
  Effect.map(Effect.all(Array.from({ length: count + 1 }, () => freePort)), (ports) => ({
    store: { _tag: "Postgres" as const, url },
    workers: count,
    clients: 24,
    each: (index: number) => nodeAt(`127.0.0.1:${ports[index]}`),
  }))

/** The same, with a line between each node and the others that can be cut. One more can join, under the number after theirs. */
export const clusterNodesBehindProxies = (url: string, count: number) =>
  Effect.gen(function* () {
    const lines = yield* Effect.forEach(Array.from({ length: count + 1 }), () =>
      Effect.gen(function* () {
        const listen = `127.0.0.1:${yield* freePort}`
        const proxy = yield* proxyTo(`http://${listen}`)
        return { listen, proxy, address: new URL(proxy.url).host }
      }),
    )
    const each = (index: number) => ({
      cluster: { address: lines[index]?.address ?? "", listen: lines[index]?.listen ?? "", token, lease, patience },
    })
    return {
      proxies: lines.map(({ proxy }) => proxy),
      options: { store: { _tag: "Postgres" as const, url }, workers: count, clients: 24, each },
    }
  })

export const proxyTo = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => startProxy(url)),
    (proxy) => Effect.promise(() => proxy.close()),
  )
