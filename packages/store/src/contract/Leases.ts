/**
 * A lease is ownership for a limited time. Its token grows each time it changes hands, so that a store can refuse commits of an
 * earlier holder. The store's clock decides when a lease has ended, not the clock of the node that holds it.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

export interface Lease {
  readonly name: string
  readonly owner: string
  /** Grows each time the lease changes hands. */
  readonly token: number
  /** Milliseconds since 1970, by the store's clock. */
  readonly expiresAt: number
  /** How long the lease is still held by the store's clock, in milliseconds. Only `get` returns it. */
  readonly remainingMillis?: number
}

export type LeaseResult = { readonly _tag: "Acquired"; readonly lease: Lease } | { readonly _tag: "Busy"; readonly holder: Lease }

export interface LeasesService {
  /** Takes a lease that is free or has ended, under a greater token. `Busy` while it is held, even by the same owner. */
  readonly acquire: (name: string, owner: string, millis: number) => Effect.Effect<LeaseResult, PersistenceFailed>
  /** Extends a lease that is still held under this token; none otherwise. */
  readonly extend: (lease: Lease, millis: number) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
  /** Releases a lease that is still held under this token; false otherwise. */
  readonly release: (lease: Lease) => Effect.Effect<boolean, PersistenceFailed>
  /**
   * Increments the token of a lease that has ended, so that commits under the old token are refused from then on. The lease stays
   * free. Returns true also if there is no such lease. Returns false while it is held, unless its holder is `ended`, an owner that is
   * known to have ended. Once this returns, every commit under the old token is either stored and visible or will be refused.
   */
  readonly fenceHolder: (name: string, ended?: string) => Effect.Effect<boolean, PersistenceFailed>
  /**
   * Removes leases that ended this long ago, at most `limit`; returns how many. A lease of the same name begins with a greater token
   * than any that was removed.
   */
  readonly purge: (endedMillis: number, limit: number) => Effect.Effect<number, PersistenceFailed>
  /** The lease while it is held; none where it is free or has ended. */
  readonly get: (name: string) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
  /** The leases that are held and whose names begin with this, by name, at most `limit`. */
  readonly held: (prefix: string, limit: number) => Effect.Effect<ReadonlyArray<Lease>, PersistenceFailed>
}

export class Leases extends Context.Service<Leases, LeasesService>()("@detent/durable/Leases") {}
