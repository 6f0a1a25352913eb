/** Starts instances and sends them events: through the server that works in the workspace, or here where none does. */
import { Engine, Journal } from "@detent/durable"
import { MachineJson } from "@detent/server/MachineJson"
import { sentBefore } from "@detent/server/SentBefore"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { NotAllowed, WrongUsage } from "../Failure.ts"
import type { RunningServer } from "../workspace/Server.ts"
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
    const { key, machine, instance } = yield* findInstance(options.instance)
    const json = new MachineJson(machine)
    const event = { ...options.fields, _tag: options.event }
    const decoded = yield* Effect.fromResult(json.readEvent(key.id, event))
    const before = options.key === undefined ? undefined : yield* sentBefore(instance, json, decoded, options.key)
    if (server === undefined) {
      yield* instance.send(decoded, options.key === undefined ? {} : { id: options.key })
    } else {
      const path = `/api/v1/instances/${encodeURIComponent(key.machine)}/${encodeURIComponent(key.id)}/events`
      yield* server.post(path, { json: event }, options.key === undefined ? {} : { "idempotency-key": options.key })
    }
    const { state, sequence, status } = yield* instance.snapshot
    const accepts = acceptedIn(json, status, state._tag)
    return { before, sent: { machine: key.machine, id: key.id, state: json.state(state), sequence, status, accepts } }
  })

export const startInstance = (
  server: RunningServer | undefined,
  options: { readonly machine: string; readonly id: string; readonly fields: Fields | undefined },
) =>
  Effect.gen(function* () {
    const { machine: name, id, fields } = options
    const machine = yield* findMachine(name)
    const json = new MachineJson(machine)
    if (fields === undefined && !json.hasFirstState)
      return yield* new WrongUsage({
        problem: `${name} needs something to begin with`,
        nextStep: `give the fields of its first state, ${json.firstState}, such as --with '${JSON.stringify(json.firstFields)}'; see \`detent machine show ${name}\``,
      })
    const there = yield* Effect.flatMap(Journal, (journal) => journal.open({ machine: name, id }))
    if (Option.isSome(there))
      return yield* new NotAllowed({
        problem: `${name} ${id} exists (${there.value.record.tag}, ${there.value.record.status})`,
        nextStep: `see \`detent instance show ${id}\``,
      })
    const given = fields === undefined ? undefined : { _tag: json.firstState, ...fields }
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
