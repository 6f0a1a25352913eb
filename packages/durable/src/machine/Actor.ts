/**
 * Who caused an event or a start. A program says so for what it does on behalf of others; the journal keeps it with the event:
 *
 * ```ts
 * yield* order.send(E.Cancel(), { by: { kind: "user", name: "ada" } })
 * yield* Effect.provideService(order.send(E.Cancel()), CurrentActor, { kind: "user", name: "ada" })
 * ```
 *
 * What follows by itself needs no such note: a timer, a command and the machine are known by the event that they send.
 */
import type { Tagged } from "@detent/machine/internal"
import type { EventRecord } from "@detent/store"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** `code`: the program, where it gives no name; `machine`: the instance, while it handled an earlier event; `node`: another Detent process. */
export interface Actor {
  readonly kind: "user" | "token" | "code" | "timer" | "command" | "machine" | "node"
  /** The person, the token, the timer, the key of the command, or the number of the event. Empty for `code`. */
  readonly name: string
}

const code: Actor = { kind: "code", name: "" }

/** Undefined: the program itself. */
export const CurrentActor: Context.Reference<Actor | undefined> = Context.Reference<Actor | undefined>("@detent/durable/CurrentActor", {
  defaultValue: () => undefined,
})

/** As journals and lists have it: `user ada`. */
export const actorText = ({ kind, name }: Actor): string => (name === "" ? kind : `${kind} ${name}`)

/** As the journal keeps it: undefined for the program itself. */
export const storedActor = (actor: Actor | undefined): string | undefined =>
  actor === undefined || actor.kind === "code" ? undefined : actorText(boundedActor(actor))

const kinds: ReadonlyArray<Actor["kind"]> = ["user", "token", "code", "timer", "command", "machine", "node"]

/** The longest name that is kept. */
const longestName = 200

/** An actor with a name of one line and bounded length. */
export const boundedActor = ({ kind, name }: Actor): Actor => ({ kind, name: name.replace(/\s+/gu, " ").trim().slice(0, longestName) })

export const actorOfText = (text: string): Actor => {
  const [kind = "", ...words] = text.split(" ")
  const known = kinds.find((one) => one === kind)
  return known === undefined ? { kind: "code", name: text } : { kind: known, name: words.join(" ") }
}

const Stored = Schema.fromJsonString(
  Schema.Struct({
    e: Schema.Struct({ _tag: Schema.String, name: Schema.optionalKey(Schema.Unknown) }),
    b: Schema.optionalKey(Schema.String),
  }),
)

const readStored = Schema.decodeUnknownOption(Stored)

/** The actor of an event as the journal has it, without the definition of its machine. */
export const actorOfRecord = ({ body, dedupeId }: Pick<EventRecord, "body" | "dedupeId">): Actor =>
  Option.match(readStored(body), {
    onNone: () => actorOfEvent({ _tag: "" }, dedupeId, undefined),
    onSome: ({ e, b }) => actorOfEvent(e, dedupeId, b),
  })

/** The actor of a journaled event: the one that was given, or what its id says. */
export const actorOfEvent = (event: Tagged & { readonly name?: unknown }, dedupeId: string | undefined, by: string | undefined): Actor => {
  if (by !== undefined) return actorOfText(by)
  if (event._tag === "@timeout") return { kind: "timer", name: String(event.name) }
  const [, key] = /^@(?:command|retry\/\d+)\/(.+)$/s.exec(dedupeId ?? "") ?? []
  if (key !== undefined) return { kind: "command", name: key }
  const [, sequence] = /^@raised\/(\d+)\//.exec(dedupeId ?? "") ?? []
  return sequence === undefined ? code : { kind: "machine", name: sequence }
}
