/** Starts instances and sends them events: through the server of the workspace, or in this process without a server. */
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NotAllowed, WrongUsage } from "../Failure.ts"
import { changed, checkKey, headersOf } from "../workspace/Changing.ts"
import type { RunningServer } from "../workspace/Server.ts"

export type Fields = Readonly<Record<string, Schema.Json>>

export interface SentEvent {
  readonly instance: string
  readonly event: string
  readonly fields: Fields
  /** The idempotency key of the sender. */
  readonly key: string | undefined
}

/** The part of the server's answer that the command line shows. Only an event with a key has a number. */
const Sent = Schema.Struct({ sequence: Schema.optionalKey(Schema.Int), answer: Schema.optionalKey(Schema.Json) })

/** The path of an instance in the API. */
export const addressOf = ({ machine, id }: { readonly machine: string; readonly id: string }): string =>
  `/api/v1/instances/${encodeURIComponent(machine)}/${encodeURIComponent(id)}`

/** Sends an event. Returns the instance's state after it and, for a repeated key, the event that was sent first. */
export const sendEvent = (server: RunningServer | undefined, options: SentEvent) =>
  Effect.gen(function* () {
    yield* checkKey(options.key)
    const key = yield* instances.resolve(options.instance)
    const { sequence: last } = yield* instances.record(key)
    const event = { ...options.fields, _tag: options.event }
    const { sequence, answer } =
      server === undefined
        ? yield* instances.send(key, event, options.key)
        : yield* Effect.flatMap(
            server.post(`${addressOf(key)}/events`, { json: event }, headersOf(options.key)),
            Schema.decodeUnknownEffect(Sent),
          )
    const sent = yield* instances.standingAfter(key)
    const before = sequence !== undefined && sequence <= last ? { sequence, event: options.event } : undefined
    return { before, sent: { ...sent, ...(answer === undefined ? {} : { answer }) } }
  })

/** Asks a question and returns its answer as JSON. Refuses an event without a reply, and does not send it. */
export const askQuestion = (server: RunningServer | undefined, options: Omit<SentEvent, "key">) =>
  Effect.gen(function* () {
    const key = yield* instances.resolve(options.instance)
    const { machine } = yield* instances.findMachine(key.machine)
    const questions = machine.blueprint.events.flatMap(({ tag, reply }) => (reply ? [tag] : []))
    if (!questions.includes(options.event))
      return yield* new WrongUsage({
        problem: `${options.event} is not a question of ${key.machine}`,
        nextStep: `its questions are ${questions.join(", ") || "none"}; see \`detent instance send\``,
      })
    const { sent } = yield* sendEvent(server, { ...options, key: undefined })
    return sent.answer ?? null
  })

/** The server's answer with the state of a new or repaired instance. */
export const Started = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: Schema.StructWithRest(Schema.Struct({ _tag: Schema.String }), [Schema.Record(Schema.String, Schema.Json)]),
})

export interface StartedInstance {
  readonly machine: string
  readonly id: string
  readonly fields: Fields | undefined
  /** The name of a state to begin in. Default: the machine's first state. */
  readonly state?: string | undefined
  readonly key: string | undefined
}

export const startInstance = (server: RunningServer | undefined, { machine, id, fields, state, key }: StartedInstance) =>
  Effect.gen(function* () {
    const given = state === undefined ? { input: fields } : { state: { ...fields, _tag: state } }
    const started = yield* changed(
      server,
      {
        operation: "instances.start",
        params: { machine },
        path: `/api/v1/instances/${encodeURIComponent(machine)}`,
        json: { id, ...optional(given) },
        answer: Started,
        key,
      },
      instances.start({ machine, id, ...given }),
    )
    return { machine, id, state: started.state }
  }).pipe(
    Effect.catchTags({
      InputNeeded: ({ first, fields: example }) =>
        Effect.fail(
          new WrongUsage({
            problem: `${machine} needs the fields of its first state`,
            nextStep: `give those of ${first}, such as --with '${JSON.stringify(example)}'; see \`detent machine show ${machine}\``,
          }),
        ),
      ActorExists: (exists) =>
        Effect.fail(
          new NotAllowed({
            problem: exists.message.split(";", 1)[0] ?? exists.message,
            nextStep: `see \`detent instance show ${id}\``,
          }),
        ),
    }),
  )
