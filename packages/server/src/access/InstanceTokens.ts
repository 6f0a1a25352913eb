/**
 * Tokens for browsers. Each is for one instance, and ends after a time. The server of an application makes them, with the token of the
 * role `operate` as its key, and a Detent server that was started with the same token accepts them. Nothing is stored: a token is checked
 * by its signature alone, and a change of the server's token revokes all of them.
 *
 * ```ts
 * import { makeInstanceTokens } from "@detent/server/tokens"
 *
 * const tokens = makeInstanceTokens(process.env.DETENT_TOKEN)
 * const token = tokens.forInstance(Order, "order-7", { read: true, events: ["Cancel"], expiresIn: "1 hour" })
 * ```
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Machine } from "@detent/machine"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { InstanceScope } from "./Grant.ts"

export interface InstanceTokenOptions<Tag extends string = string> {
  /** Whether it may read the state and the legal events, and follow the instance. Default: false. */
  readonly read?: boolean
  /** The events that it may send. Default: none. */
  readonly events?: ReadonlyArray<Tag>
  /** At most a week. */
  readonly expiresIn: Duration.Input
}

export interface InstanceTokens {
  /** A token for one instance. Throws an error with the next step where the options are not valid. */
  readonly forInstance: <E extends { readonly _tag: string }>(
    machine: Machine.Definition<unknown, E, never, unknown, unknown>,
    id: string,
    options: InstanceTokenOptions<E["_tag"]>,
  ) => string
  /** The same for a machine whose definition is elsewhere, by its name. The tags of events are not checked. */
  readonly forInstanceOf: (machine: string, id: string, options: InstanceTokenOptions) => string
}

/** A token that was valid when it was read. */
export interface SignedInstance extends InstanceScope {
  readonly expiresAt: number
}

/** Distinguishes these tokens from others, and from those of later forms. */
const prefix = "detent_i1."

/** The longest lifetime of a token: a browser asks for a new one. */
const longestMillis = 7 * 24 * 3_600_000

const purpose = "detent instance token 1"

/** Machine, id, whether it may read, events, expiry. */
const Content = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.String, Schema.Boolean, Schema.Array(Schema.String), Schema.Int]))

const decodeContent = Schema.decodeUnknownOption(Content)

const encodeContent = Schema.encodeSync(Content)

/** Throws where there is no key. `now` is the time in milliseconds since 1970. */
export const makeInstanceTokens = (key: string | Redacted.Redacted | undefined, now: () => number = currentMillis): InstanceTokens => {
  const secret = Redacted.isRedacted(key) ? Redacted.value(key) : key
  if (secret === undefined || secret === "")
    throw new TypeError(
      "instance tokens need a key; pass the token that the Detent server was started with, such as process.env.DETENT_TOKEN",
    )
  const signing = keyOf(secret)
  const forInstanceOf = (machine: string, id: string, { read = false, events = [], expiresIn }: InstanceTokenOptions): string => {
    if (id === "") throw new TypeError(`a token for an instance of ${machine} names no instance; pass its id`)
    if (!read && events.length === 0)
      throw new TypeError(`a token for ${machine}/${id} that may do nothing; pass read: true, or events that it may send`)
    const millis = Option.match(Duration.fromInput(expiresIn), { onNone: () => Number.NaN, onSome: Duration.toMillis })
    if (!(millis > 0 && millis <= longestMillis))
      throw new TypeError(`expiresIn of a token for ${machine}/${id} is not valid; pass a time of at most 7 days, such as "1 hour"`)
    const content = Buffer.from(encodeContent([machine, id, read, events, Math.floor(now() + millis)])).toString("base64url")
    return `${prefix}${content}.${signatureOf(signing, content).toString("base64url")}`
  }
  return {
    forInstance: ({ name, blueprint }, id, options) => {
      const known = blueprint.events.map(({ tag }) => tag)
      const unknown = (options.events ?? []).filter((tag) => !known.includes(tag))
      if (unknown.length > 0) throw new TypeError(`${name} has no event ${unknown.join(", ")}; its events are ${known.join(", ")}`)
      return forInstanceOf(name, id, options)
    },
    forInstanceOf,
  }
}

/** Whether a token is one for an instance, valid or not. */
export const isInstanceToken = (token: string): boolean => token.startsWith(prefix)

/** Checks tokens of a server. */
export class InstanceTokenReader {
  readonly #key: Buffer | undefined
  readonly #now: () => number

  constructor(operate: Redacted.Redacted | undefined, now: () => number) {
    this.#key = operate === undefined ? undefined : keyOf(Redacted.value(operate))
    this.#now = now
  }

  /** Undefined for a token with another signature; `Expired` for one that was valid. */
  read(token: string): SignedInstance | "Expired" | undefined {
    const [content = "", signature = "", ...more] = token.slice(prefix.length).split(".")
    if (this.#key === undefined || more.length > 0) return undefined
    const expected = signatureOf(this.#key, content)
    const given = Buffer.from(signature, "base64url")
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const decoded = Option.getOrUndefined(decodeContent(Buffer.from(content, "base64url").toString()))
    if (decoded === undefined) return undefined
    const [machine, id, read, events, expiresAt] = decoded
    return expiresAt <= this.#now() ? "Expired" : { machine, id, read, events, expiresAt }
  }
}

const keyOf = (secret: string): Buffer => createHmac("sha256", secret).update(purpose).digest()

const signatureOf = (key: Buffer, content: string): Buffer => createHmac("sha256", key).update(content).digest()

/** Tokens are made outside of Effect, in the server of an application. */
// @effect-diagnostics-next-line globalDate:off
const currentMillis = (): number => Date.now()
