/**
 * The messages between nodes of a cluster, as JSON over a connection that the node with requests opens. It sends calls, each with
 * requests for many instances. The other node reports the progress of all calls together, once for everything that becomes known in one
 * turn: a commit that stores events of several calls is one message.
 */
import type { RemoteAnswer } from "@detent/durable/internal"
import * as Schema from "effect/Schema"

const Request = Schema.Union([
  Schema.Struct({
    _tag: Schema.tag("Send"),
    event: Schema.String,
    id: Schema.String,
    silent: Schema.optionalKey(Schema.Boolean),
    first: Schema.optionalKey(Schema.Boolean),
  }),
  Schema.Struct({
    _tag: Schema.tag("Start"),
    state: Schema.String,
    version: Schema.Number,
    at: Schema.Number,
    by: Schema.optionalKey(Schema.String),
  }),
  Schema.Struct({ _tag: Schema.tag("Wake") }),
])

const Answer = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Done"), taken: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ _tag: Schema.tag("Refused"), error: Schema.String }),
  Schema.Struct({ _tag: Schema.tag("Elsewhere"), reason: Schema.String }),
])

/** Requests for one instance, in the order in which the node carries them out. */
const Parcel = Schema.Struct({ machine: Schema.String, id: Schema.String, requests: Schema.Array(Request) })
export type Parcel = typeof Parcel.Type

const Call = Schema.Struct({ call: Schema.Number, parcels: Schema.Array(Parcel) })
type Call = typeof Call.Type

/** Answers by position in the flat list of a call's requests. */
export type Answers = ReadonlyArray<readonly [position: number, answer: RemoteAnswer]>

/**
 * Answers by the number of the call. The first entry of a call reports that the instances have all its requests, so that later ones do not
 * overtake them. A message without entries is a heartbeat.
 */
const Progress = Schema.Array(Schema.Tuple([Schema.Number, Schema.Array(Schema.Tuple([Schema.Number, Answer]))]))
export type Progress = ReadonlyArray<readonly [call: number, answers: Answers]>

/** The most requests of one call. */
export const callLimit = 256

/** The characters of the events and states of one call, except that a longer event or state has a call of its own. */
export const callCharacters = 1_000_000

/** The characters of the answers of one message, except that a longer answer has a message of its own. */
export const progressCharacters = 1_000_000

/**
 * The most characters of an event or a state in a request, and of a decision in an answer. A character takes at most three bytes of a
 * message, and a connection takes messages of up to 100 MiB.
 */
export const requestCharacters = 32_000_000

export const path = "/cluster"

/** A received message does not belong to this protocol. */
export class NoMessage extends Error {
  override readonly name = "NoMessage"
}

// The schemas only check a message, and do not copy it: all its values are plain JSON.
const reading =
  <A>(expected: string, isExpected: (value: unknown) => value is A) =>
  (message: string | Uint8Array): A => {
    let value: unknown
    try {
      value = JSON.parse(typeof message === "string" ? message : new TextDecoder().decode(message))
    } catch {
      throw new NoMessage(`${expected} was expected, and the message is not JSON`)
    }
    if (!isExpected(value)) throw new NoMessage(`${expected} was expected, and the message is other JSON`)
    return value
  }

/** The call in a message. Throws `NoMessage`. */
export const callIn: (message: string | Uint8Array) => Call = reading("a call", Schema.is(Call))

/** The progress in a message. Throws `NoMessage`. */
export const progressIn: (message: string | Uint8Array) => Progress = reading("the progress of calls", Schema.is(Progress))

export const callMessage = (call: Call): string => JSON.stringify(call)

export const progressMessage = (progress: Progress): string => JSON.stringify(progress)
