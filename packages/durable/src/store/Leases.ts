/**
 * A lease is ownership for a while. Each time it changes hands its token grows, so that a store can refuse whoever held
 * it before. The store's clock decides when a lease is over, not the clock of the node that holds it.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

export interface Lease {
  readonly name: string
  readonly owner: string
  /** Grows with every change of hands. */
  readonly token: number
  /** Milliseconds since 1970, by the store's clock. */
  readonly expiresAt: number
}

export type LeaseResult = { readonly _tag: "Acquired"; readonly lease: Lease } | { readonly _tag: "Busy"; readonly holder: Lease }

export interface LeasesService {
  /** Takes a lease that is free or over. Whoever holds it, even the same owner, keeps it: then `Busy`. */
  readonly acquire: (name: string, owner: string, millis: number) => Effect.Effect<LeaseResult, PersistenceFailed>
  /** Prolongs a lease that is still held under that very token; none otherwise. */
  readonly extend: (lease: Lease, millis: number) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
  /** Gives a lease back that is still held under that very token: otherwise false. */
  readonly release: (lease: Lease) => Effect.Effect<boolean, PersistenceFailed>
  /** Who holds it, unless it is free or over. */
  readonly get: (name: string) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
}

export class Leases extends Context.Service<Leases, LeasesService>()("@detent/durable/Leases") {}
