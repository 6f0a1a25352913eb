/** Effect's registry of handlers, in which `EventLog.groupReactivity` also invalidates keys when another process stores an event. */
import * as Effect from "effect/Effect"
import { layerRegistry, Registry } from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { EventFeed, followFeed } from "../journal/EventFeed.ts"
import type { StoredEntry } from "../journal/StoredEntry.ts"

export const layerReactiveRegistry: Layer.Layer<Registry, never, EventFeed> = Layer.effect(
  Registry,
  Effect.gen(function* () {
    const registry = yield* Registry
    const feed = yield* EventFeed
    const reactivity = yield* Reactivity.Reactivity
    const scope = yield* Effect.scope
    const turn = yield* Semaphore.make(1)
    let isFollowing = false

    const invalidate = ({ entry }: StoredEntry) =>
      Effect.sync(() => {
        const keys = Object.hasOwn(registry.reactivityKeys, entry.event) ? registry.reactivityKeys[entry.event] : undefined
        for (const key of keys ?? []) reactivity.invalidateUnsafe({ [key]: [entry.primaryKey] })
      })

    /** Begins with the first registered key. If that fails, the next registration tries again. */
    const follow = Effect.gen(function* () {
      if (isFollowing) return
      const after = yield* feed.position
      yield* Effect.provideService(followFeed(`reactivity of journal ${feed.journal}`, feed, after, invalidate), Scope.Scope, scope)
      isFollowing = true
    }).pipe(turn.withPermit)

    return Registry.of({
      ...registry,
      registerReactivity: (keys) => Effect.andThen(registry.registerReactivity(keys), Effect.orDie(follow)),
    })
  }),
).pipe(Layer.provide([Layer.fresh(layerRegistry), Reactivity.layer]))
