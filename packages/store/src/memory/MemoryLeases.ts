/** Leases in memory. The clock of the process decides when a lease has ended. */

import { compareText } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Lease, LeaseResult, LeasesService } from "../contract/Leases.ts"
import type { MemoryState } from "./MemoryState.ts"

export const memoryLeases = ({ leases }: MemoryState): LeasesService => {
  /** The greatest token of a lease that was removed. */
  let floor = 0
  const held = (name: string, now: number): Lease | undefined => {
    const lease = leases.get(name)
    return lease !== undefined && lease.expiresAt > now ? lease : undefined
  }
  const same = (lease: Lease, now: number): boolean => {
    const current = held(lease.name, now)
    return current !== undefined && current.token === lease.token && current.owner === lease.owner
  }
  return {
    acquire: (name, owner, millis) =>
      Effect.map(Clock.currentTimeMillis, (now): LeaseResult => {
        const holder = held(name, now)
        if (holder !== undefined) return { _tag: "Busy", holder }
        const lease = { name, owner, token: (leases.get(name)?.token ?? floor) + 1, expiresAt: now + Math.ceil(millis) }
        leases.set(name, lease)
        return { _tag: "Acquired", lease }
      }),
    extend: (lease, millis) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (!same(lease, now)) return Option.none()
        const extended = { ...lease, expiresAt: now + Math.ceil(millis) }
        leases.set(lease.name, extended)
        return Option.some(extended)
      }),
    release: (lease) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (!same(lease, now)) return false
        leases.set(lease.name, { ...lease, expiresAt: 0 })
        return true
      }),
    purge: (endedMillis, limit) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const ended = [...leases.values()].filter(({ expiresAt }) => expiresAt <= now - endedMillis).slice(0, limit)
        for (const { name, token } of ended) {
          floor = Math.max(floor, token)
          leases.delete(name)
        }
        return ended.length
      }),
    fenceHolder: (name, ended) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const holder = held(name, now)
        if (holder !== undefined && holder.owner !== ended) return false
        const lease = leases.get(name)
        if (lease !== undefined) leases.set(name, { ...lease, token: lease.token + 1, expiresAt: 0 })
        return true
      }),
    held: (prefix, limit) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        [...leases.values()]
          .filter(({ name, expiresAt }) => name.startsWith(prefix) && expiresAt > now)
          .sort((left, right) => compareText(left.name, right.name))
          .slice(0, limit),
      ),
    get: (name) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        Option.map(Option.fromNullishOr(held(name, now)), (lease) => ({ ...lease, remainingMillis: lease.expiresAt - now })),
      ),
  }
}
