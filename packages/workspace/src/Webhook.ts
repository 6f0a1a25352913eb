/**
 * Webhooks: requests of other services that are verified by their signature, and become an event or a start, once for each delivery.
 *
 * ```ts
 * const payments = webhook("stripe", {
 *   verify: stripeSignature(secrets.stripe),
 *   body: Schema.Struct({ id: Schema.String, type: Schema.String, data: Schema.Struct({ object: Payment }) }),
 *   id: ({ body }) => body.id,
 *   on: ({ body }) => (body.type === "charge.succeeded" ? sendEvent(Order, body.data.object.order, E.Pay()) : undefined),
 * })
 * ```
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { StartRequest } from "@detent/durable/Schedules"
import { DefinitionError, type FieldSchema, type Machine, type TypeOf } from "@detent/machine"
import { asSchema } from "@detent/machine/internal"
import * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"

export type WebhookHeaders = Readonly<Record<string, string | undefined>>

/** What a signature is checked against. */
export interface SignedRequest {
  /** The body as it arrived. */
  readonly text: string
  /** By their names in lower case. */
  readonly headers: WebhookHeaders
  /** Milliseconds since 1970. */
  readonly now: number
}

/** `NoSecret`: this process was given none, so it can verify nothing. */
export type SignatureProblem = "NoSecret" | "Missing" | "Malformed" | "Wrong" | "Old"

export interface WebhookSignature {
  /** The header that has the signature. */
  readonly header: string
  readonly problemOf: (request: SignedRequest) => SignatureProblem | undefined
}

/** One secret, or several while one replaces another. A process without any refuses every request. */
export type WebhookSecret = string | undefined | ReadonlyArray<string | undefined>

const secretsIn = (secret: WebhookSecret): ReadonlyArray<string> =>
  [secret].flat().filter((one): one is string => one !== undefined && one !== "")

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

const isSignedBy = (secrets: ReadonlyArray<string>, text: string, signatures: ReadonlyArray<Buffer>): boolean =>
  secrets.some((secret) => {
    const expected = createHmac("sha256", secret).update(text, "utf8").digest()
    return signatures.some((signature) => isSame(expected, signature))
  })

const hexDigest = /^[\da-f]{64}$/i

/** The signature of Stripe: `stripe-signature` with the time and an HMAC-SHA256 of time and body. */
export const stripeSignature = (
  secret: WebhookSecret,
  { tolerance = "5 minutes" }: { readonly tolerance?: Duration.Input } = {},
): WebhookSignature => {
  const secrets = secretsIn(secret)
  const toleranceMillis = Duration.toMillis(Duration.fromInputUnsafe(tolerance))
  const header = "stripe-signature"
  return {
    header,
    problemOf: ({ text, headers, now }) => {
      const given = headers[header]
      if (secrets.length === 0) return "NoSecret"
      if (given === undefined) return "Missing"
      const parts = given.split(",").map((part) => part.trim().split("=", 2) as [string, string | undefined])
      const time = parts.find(([name]) => name === "t")?.[1] ?? ""
      const signatures = parts.flatMap(([name, value = ""]) => (name === "v1" && hexDigest.test(value) ? [Buffer.from(value, "hex")] : []))
      if (!/^\d{1,12}$/.test(time) || signatures.length === 0) return "Malformed"
      if (!isSignedBy(secrets, `${time}.${text}`, signatures)) return "Wrong"
      return Math.abs(now - Number(time) * 1000) > toleranceMillis ? "Old" : undefined
    },
  }
}

/** An HMAC-SHA256 of the body in a header, as many services send it. It has no time: a repeated delivery is known by its id. */
export const hmacSignature = (
  secret: WebhookSecret,
  {
    header: named,
    prefix = "",
    encoding = "hex",
  }: { readonly header: string; readonly prefix?: string; readonly encoding?: "hex" | "base64" },
): WebhookSignature => {
  const secrets = secretsIn(secret)
  const header = named.toLowerCase()
  return {
    header,
    problemOf: ({ text, headers }) => {
      const given = headers[header]
      if (secrets.length === 0) return "NoSecret"
      if (given === undefined) return "Missing"
      const value = given.slice(prefix.length)
      const isForm = encoding === "hex" ? hexDigest.test(value) : /^[\w+/]{43}=$/.test(value)
      if (!given.startsWith(prefix) || !isForm) return "Malformed"
      return isSignedBy(secrets, text, [Buffer.from(value, encoding)]) ? undefined : "Wrong"
    },
  }
}

/** The signature of GitHub: `x-hub-signature-256`. The id of a delivery is in the header `x-github-delivery`. */
export const githubSignature = (secret: WebhookSecret): WebhookSignature =>
  hmacSignature(secret, { header: "x-hub-signature-256", prefix: "sha256=" })

/** An event for an instance. */
export interface EventRequest {
  readonly _tag: "Event"
  readonly machine: string
  readonly id: string
  readonly event: { readonly _tag: string }
}

/** Sends an event to an instance, once for each delivery. */
export const sendEvent = <S, E extends { readonly _tag: string }, I, R>(
  machine: Machine.Definition<S, E, I, R>,
  id: string,
  event: NoInfer<E>,
): EventRequest => ({ _tag: "Event", machine: machine.name, id, event })

/** What a delivery becomes. Undefined: it is acknowledged, and nothing happens. */
export type WebhookAction = EventRequest | StartRequest | undefined

/** A webhook as the server receives it; made by {@link webhook}. */
export interface Webhook {
  /** It is received at `/webhooks/NAME`. */
  readonly name: string
  readonly verify: WebhookSignature
  readonly body: Schema.Codec<unknown, unknown>
  readonly id: (delivery: { readonly body: unknown; readonly headers: WebhookHeaders }) => string | undefined
  readonly on: (delivery: { readonly body: unknown; readonly headers: WebhookHeaders }) => WebhookAction
}

export interface WebhookOptions<B extends FieldSchema> {
  readonly verify: WebhookSignature
  /** The part of the body that `id` and `on` use. */
  readonly body: B
  /** The id of the delivery: a repeated one changes nothing. */
  readonly id: (delivery: { readonly body: TypeOf<B>; readonly headers: WebhookHeaders }) => string | undefined
  /** Describes what the delivery becomes. It may be called more than once for one delivery. */
  readonly on: (delivery: { readonly body: TypeOf<B>; readonly headers: WebhookHeaders }) => WebhookAction
}

/** Declares a webhook. Throws a `DefinitionError` for a name that is no segment of an address. */
export const webhook = <B extends FieldSchema>(name: string, { verify, body, id, on }: WebhookOptions<B>): Webhook => {
  if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) {
    throw new DefinitionError({
      problem: `webhook ${name}: its name is no segment of an address`,
      nextStep: "name it with at most 64 letters, digits, - and _",
    })
  }
  return { name, verify, body: asSchema(body), id: id as Webhook["id"], on: on as Webhook["on"] }
}
