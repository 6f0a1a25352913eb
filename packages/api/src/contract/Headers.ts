/** Headers that operations understand. */
import * as Schema from "effect/Schema"

/** The idempotency key of a request: repeated requests with the same key are applied once. */
export const IdempotencyKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,200}$/u))

export const IdempotencyHeaders = Schema.Struct({ "idempotency-key": Schema.optionalKey(IdempotencyKey) })

/** Sent by a client that reconnects to a stream. */
export const LiveHeaders = Schema.Struct({
  "last-event-id": Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{1,15}$/u))),
})
