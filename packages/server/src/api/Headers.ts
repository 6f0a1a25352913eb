/** Headers that operations understand. */
import * as Schema from "effect/Schema"

/** The sender's own id of a request: sent again under the same id, it is the same request, and applied once. */
export const IdempotencyKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,200}$/))

export const IdempotencyHeaders = Schema.Struct({ "idempotency-key": Schema.optionalKey(IdempotencyKey) })

/** What a stream that broke off sends when it is opened again. */
export const LiveHeaders = Schema.Struct({
  "last-event-id": Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{1,15}$/))),
})
