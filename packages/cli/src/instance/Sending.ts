/** Starts instances and sends them events: through the server that works in the home, or here where none does. */
import { isDeepStrictEqual } from "node:util"
import { Engine, Journal } from "@detent/durable"
import { MachineJson } from "@detent/server/MachineJson"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { NotAllowed, WrongUsage } from "../Failure.ts"
import type { RunningServer } from "../home/Server.ts"
import { findInstance, findMachine } from "./Finding.ts"
import { acceptedIn } from "./InstanceView.ts"

export type Fields = Readonly<Record<string, Schema.Json>>

export interface SentEvent {
  readonly instance: string
  readonly event: string
  readonly fields: Fields
  /** The sender's own id for it: under the same one it is taken once. */
  readonly key: string | undefined
}

/** Sends an event and tells where the instance stands then, and, where it had been sent before under its key, as which one. */
export const sendEvent = (server: RunningServer | undefined, options: SentEvent) =>
  Effect.gen(function* () {
    const found = yield* findInstance(options.instance)
    const before = options.key === undefined ? undefined : yield* sentBefore(found, { ...options, key: options.key })
    const { key, machine, instance } = found
    const json = new MachineJson(machine)
    const event = { ...options.fields, _tag: options.event }
    if (server === undefined) {
      const decoded = yield* Effect.fromResult(json.readEvent(key.id, event))
      yield* instance.send(decoded, options.key === undefined ? {} : { id: options.key })
    } else {
      const path = `/api/v1/instances/${encodeURIComponent(key.machine)}/${encodeURIComponent(key.id)}/events`
      yield* server.post(path, { json: event }, options.key === undefined ? {} : { "idempotency-key": options.key })
    }
    const { state, sequence, status } = yield* instance.snapshot
    const accepts = acceptedIn(json, status, state._tag)
    return { before, sent: { machine: key.machine, id: key.id, state: json.state(state), sequence, status, accepts } }
  })

/** Sent again under its key, an event is answered from the journal; under the key of another event it would get that one's answer. */
export class KeyTaken extends Schema.TaggedError<KeyTaken>()("KeyTaken", {
  machine: Schema.String,
  id: Schema.String,
  key: Schema.String,
  sequence: Schema.Int,
  event: Schema.String,
  difference: Schema.Literals(["event", "fields"]),
}) {
  override get message() {
    const { machine, id, key, sequence, event, difference } = this
    const other = difference === "event" ? "" : " with other fields"
    return `key ${key} of ${machine}/${id} is that of event ${sequence}, ${event}${other}; nothing was sent: choose another key for another event`
  }
}

/** The event that was journaled under the key, if one was; refused where it is another than the one to be sent. */
const sentBefore = (
  { key: instanceKey, machine, instance }: Effect.Success<ReturnType<typeof findInstance>>,
  options: SentEvent & { readonly key: string },
) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(Journal, (journal) => journal.findDuplicate(instanceKey, options.key))
    if (Option.isNone(found)) return undefined
    const { sequence, tag } = found.value
    const taken = { ...instanceKey, key: options.key, sequence, event: tag }
    if (tag !== options.event) return yield* new KeyTaken({ ...taken, difference: "event" })
    const json = new MachineJson(machine)
    const sent = yield* Effect.fromResult(json.readEvent(instanceKey.id, { ...options.fields, _tag: options.event }))
    const journaled = yield* instance.history.pipe(
      Stream.filter((entry) => entry.sequence === sequence),
      Stream.runHead,
      // A history that was cut short or cannot be replayed has nothing to compare with.
      Effect.orElseSucceed(() => Option.none()),
    )
    if (Option.isSome(journaled) && !isDeepStrictEqual(json.event(journaled.value.event), json.event(sent)))
      return yield* new KeyTaken({ ...taken, difference: "fields" })
    return { sequence, event: tag }
  })

export const startInstance = (
  server: RunningServer | undefined,
  options: { readonly machine: string; readonly id: string; readonly fields: Fields | undefined },
) =>
  Effect.gen(function* () {
    const { machine: name, id, fields } = options
    const machine = yield* findMachine(name)
    const json = new MachineJson(machine)
    const { states } = machine.blueprint
    const first = (states.find(({ initial }) => initial) ?? states[0])?.tag ?? ""
    if (fields === undefined && !json.hasFirstState)
      return yield* new WrongUsage({
        problem: `${name} needs something to begin with`,
        nextStep: `give the fields of its first state with --with '{…}'; see \`detent machine show ${name}\``,
      })
    const there = yield* Effect.flatMap(Journal, (journal) => journal.open({ machine: name, id }))
    if (Option.isSome(there))
      return yield* new NotAllowed({
        problem: `${name} ${id} exists (${there.value.record.tag}, ${there.value.record.status})`,
        nextStep: `see \`detent instance show ${id}\``,
      })
    const given = fields === undefined ? undefined : { _tag: first, ...fields }
    if (server === undefined) {
      const decoded = given === undefined ? undefined : yield* Effect.fromResult(json.readState(id, given))
      yield* Effect.flatMap(Engine, (engine) => engine.start(machine, id, decoded))
    } else {
      const path = `/api/v1/instances/${encodeURIComponent(name)}`
      yield* server.post(path, { json: { id, ...(given === undefined ? {} : { state: given }) } })
    }
    const instance = Option.getOrThrow((yield* Engine).find({ machine: name, id }))
    return { machine: name, id, state: json.state(yield* instance.state) }
  })
