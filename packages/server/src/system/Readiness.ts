/**
 * Whether the server is ready: it is not being stopped, the database answers, and no background loop is down. The answer is public, so
 * it does not contain the address of the database. Held instances are reported and do not make the server unready: without it, the
 * instances that fit would be out of service too.
 */

import { kind, Unavailable } from "@detent/api/Problem"
import { Engine, Journal, LoopHealth, type LoopOutage } from "@detent/durable"
import { ClusterMember } from "@detent/workspace/ClusterMember"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { inOneLine } from "@detent/workspace/SchemaProblem"
import { systemsOn } from "@detent/workspace/Systems"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Stopping } from "../serve/Stopping.ts"

/** A loop that fails for less than this usually recovers by itself, so the server stays in service. */
const graceMillis = 5_000

const longestProblem = 200

/** No instance has this key, so reading it takes one index lookup. */
const probe = { machine: "", id: "" }

const notReady = (detail: string) => new Unavailable({ type: kind("NotReady"), title: "Not ready", status: 503, detail })

/** `check` is the answer of `/health/ready`. */
export const makeReadiness = Effect.gen(function* () {
  const engine = yield* Engine
  const journal = yield* Journal
  const health = yield* LoopHealth
  const stopping = yield* Stopping
  const member = yield* ClusterMember
  const { database, role } = yield* CurrentWorkspace
  const systems = yield* systemsOn

  const check = Effect.gen(function* () {
    if (stopping.isStopping) return yield* notReady("the server is being stopped; use another server")
    if (Option.isSome(member) && !member.value.isReady())
      return yield* notReady(
        "this node of the cluster has no shards: it is draining, has just started, or waits for its lease; use another node",
      )
    yield* journal.standings([probe]).pipe(
      Effect.timeout("5 seconds"),
      Effect.mapError(() => notReady("the database does not answer; see the server's log")),
    )
    const now = yield* Clock.currentTimeMillis
    const down = health.outages().filter(({ since }) => now - since >= graceMillis)
    if (down.length > 0) return yield* notReady(`${down.map((outage) => describeOutage(outage, now)).join("; ")}; see the server's log`)
    const held = yield* engine.held
    return {
      status: "ready" as const,
      database,
      role,
      systems,
      instancesLive: yield* engine.live,
      instancesHeld: held.reduce((sum, one) => sum + one.held, 0),
      instancesChecked: held.length > 0 && held.every(({ isComplete }) => isComplete),
    }
  })
  return { check }
})

const describeOutage = ({ name, since, failures, problem }: LoopOutage, now: number): string =>
  `${name} has been down for ${Math.round((now - since) / 1000)} s (${failures} attempts failed): ${withoutSecrets(problem)}`

/** Removes addresses and passwords: an error of a database client may contain its address with the password. */
const withoutSecrets = (problem: string): string => {
  const line = inOneLine(
    problem
      .replace(/(?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/\S+/gi, "(address)")
      .replace(/\b(password|passwd|pwd|token|secret)\b\s*[=:]\s*\S+/gi, "$1=•••"),
  )
  return line.length > longestProblem ? `${line.slice(0, longestProblem)}…` : line
}
