/** Calls the registered handlers with events. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Entry } from "effect/eventlog/EventJournal"
import { CurrentStoreId, Identity, type Registry } from "effect/eventlog/EventLog"
import * as Schema from "effect/Schema"
import { EntryRefused, HandlerTimeout } from "../journal/errors.ts"

/** The event whose handler runs: handlers must not write events, since a replay would write them again. */
export const HandledEvent = Context.Reference<string | undefined>("@detent/eventlog/HandledEvent", { defaultValue: () => undefined })

/** An event with its payload and conflicts, as passed to its handler. */
export interface Handled {
  readonly entry: Entry
  readonly payload: unknown
  /** Later events of the same kind and primary key that were stored before this one. */
  readonly conflicts: ReadonlyArray<Entry>
}

export interface EventHandlers {
  readonly has: (tag: string) => boolean
  /** The payload as bytes, and its primary key. */
  readonly encode: (
    tag: string,
    payload: unknown,
  ) => Effect.Effect<{ readonly payload: Uint8Array; readonly primaryKey: string }, EntryRefused>
  /** Fails with a text that names the problem. */
  readonly decode: (entry: Entry) => Effect.Effect<unknown, string>
  /** Runs the handler with its own services, inside the transaction and span of the caller. */
  readonly handle: (handled: Handled) => Effect.Effect<unknown, unknown>
}

export interface HandlersOptions {
  readonly journal: string
  readonly registry: Registry["Service"]
  readonly identity: Identity["Service"] | undefined
  /** A handler that takes longer fails, because all writers wait while it runs. */
  readonly timeout: Duration.Input
}

export const makeEventHandlers = ({ journal, registry, identity, timeout }: HandlersOptions): Effect.Effect<EventHandlers> =>
  Effect.map(CurrentStoreId, (storeId) => {
    const itemOf = (tag: string) => {
      const item = registry.handlers.get(tag)
      if (item === undefined) throw new Error(`no handler is registered for event ${tag}`)
      return item
    }
    const codecs = new Map<string, ReturnType<typeof codecOf>>()
    const codecOf = (tag: string) => {
      const { event, context } = itemOf(tag)
      const services: Context.Context<unknown> = context
      const provided = <A, E>(effect: Effect.Effect<A, E, unknown>) =>
        Effect.updateContext(effect, (around: Context.Context<never>) => Context.merge(services, around))
      const encode = Schema.encodeUnknownEffect(event.payloadSchemaBinary)
      const decode = Schema.decodeUnknownEffect(event.payloadSchemaBinary)
      return { encode: (payload: unknown) => provided(encode(payload)), decode: (payload: Uint8Array) => provided(decode(payload)) }
    }
    const codec = (tag: string) => {
      const known = codecs.get(tag) ?? codecOf(tag)
      codecs.set(tag, known)
      return known
    }

    return {
      has: (tag) => registry.handlers.has(tag),
      encode: (tag, payload) =>
        Effect.suspend(() => {
          const refuse = (cause: unknown) =>
            new EntryRefused({ journal, event: tag, problem: `its payload does not fit its schema: ${textOf(cause)}` })
          const primaryKey = Effect.try({ try: () => itemOf(tag).event.primaryKey(payload), catch: refuse })
          const bytes = Effect.mapError(codec(tag).encode(payload), refuse)
          return Effect.flatMap(bytes, (payload) => Effect.map(primaryKey, (primaryKey) => ({ payload, primaryKey })))
        }),
      decode: (entry) => Effect.mapError(codec(entry.event).decode(entry.payload), textOf),
      handle: ({ entry, payload, conflicts }) =>
        Effect.gen(function* () {
          const item = itemOf(entry.event)
          const decoded = yield* Effect.forEach(conflicts, (entry) =>
            Effect.map(codec(entry.event).decode(entry.payload), (payload) => ({ entry, payload })),
          )
          const services: Context.Context<unknown> = item.context
          const around = yield* Effect.context<never>()
          const context = Context.merge(services, around).pipe(
            Context.add(HandledEvent, entry.event),
            identity === undefined ? (context) => context : Context.add(Identity, identity),
          )
          const handling: Effect.Effect<unknown, unknown, unknown> = item.handler({ storeId, payload, entry, conflicts: decoded })
          return yield* Effect.timeoutOrElse(Effect.provideContext(handling, context), {
            duration: timeout,
            orElse: () => Effect.fail(new HandlerTimeout({ journal, event: entry.event, millis: Duration.toMillis(timeout) })),
          })
        }),
    }
  })

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
