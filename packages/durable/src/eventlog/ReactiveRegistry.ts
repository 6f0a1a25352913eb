/**
 * Effect's registry of handlers, with `EventLog.groupReactivity` for all processes: its keys are invalidated when an event has
 * been stored, by whomever.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { layerRegistry, Registry } from "effect/unstable/eventlog/EventLog"
import * as Reactivity from "effect/unstable/reactivity/Reactivity"
import { EventFeed } from "../engine/EventFeed.ts"
import type { StoredEntry } from "./StoredEntry.ts"

export const layerReactiveRegistry: Layer.Layer<Registry, never, EventFeed> = Layer.effect(
  Registry,
  Effect.gen(function* () {
    const registry = yield* Registry
    const feed = yield* EventFeed
    const reactivity = yield* Reactivity.Reactivity
    const scope = yield* Effect.scope
    let isFollowing = false

    const invalidate = ({ entry }: StoredEntry) =>
      Effect.sync(() => {
        const keys = Object.hasOwn(registry.reactivityKeys, entry.event) ? registry.reactivityKeys[entry.event] : undefined
        for (const key of keys ?? []) reactivity.invalidateUnsafe({ [key]: [entry.primaryKey] })
      })

    /** Nobody who has no keys reads for them. */
    const follow = Effect.gen(function* () {
      if (isFollowing) return
      isFollowing = true
      const after = yield* feed.position
      yield* Effect.forkIn(Stream.runForEach(feed.stream({ after }), invalidate), scope)
    })

    return Registry.of({
      ...registry,
      registerReactivity: (keys) => Effect.andThen(registry.registerReactivity(keys), Effect.orDie(follow)),
    })
  }),
).pipe(Layer.provide([Layer.fresh(layerRegistry), Reactivity.layer]))
