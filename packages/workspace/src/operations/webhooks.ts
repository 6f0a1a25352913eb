/** Receives deliveries of webhooks: verifies the signature, decodes the body, and carries out what it becomes. */
import { CurrentActor } from "@detent/durable"
import { carryOutStart } from "@detent/durable/internal"
import { describe, schemaProblem } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { WebhookBodyInvalid, WebhookRefused } from "../errors.ts"
import type { Webhook, WebhookHeaders } from "../Webhook.ts"
import { find } from "./find.ts"

export interface Delivery {
  readonly text: string
  readonly headers: WebhookHeaders
}

const longestId = 200

const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

export const receive = (webhook: Webhook, delivery: Delivery) =>
  Effect.provideService(carriedOut(webhook, delivery), CurrentActor, { kind: "token", name: `webhook ${webhook.name}` })

const carriedOut = ({ name, verify, body: schema, id: idOf, on }: Webhook, { text, headers }: Delivery) =>
  Effect.gen(function* () {
    const refused = verify.problemOf({ text, headers, now: yield* Clock.currentTimeMillis })
    if (refused !== undefined) return yield* new WebhookRefused({ webhook: name, header: verify.header, reason: refused })
    const invalid = (problem: string) => new WebhookBodyInvalid({ webhook: name, problem })
    const json = yield* Effect.mapError(readJson(text), () => invalid("it is not JSON"))
    const body = yield* Effect.mapError(Schema.decodeUnknownEffect(Schema.toCodecJson(schema))(json), (error) =>
      invalid(schemaProblem(schema, error)),
    )
    const id = idOf({ body, headers })
    if (typeof id !== "string" || id === "" || id.length > longestId)
      return yield* invalid(`its id is ${describe(id)}, and not a text of 1 to ${longestId} characters`)
    const action = on({ body, headers })
    if (action === undefined) return { accepted: false }
    const deliveryId = `webhook/${name}/${id}`
    if (action._tag === "Event") {
      const { instance } = yield* find({ machine: action.machine, id: action.id })
      yield* instance.call(action.event, { id: deliveryId })
    } else {
      const workflows = Option.getOrUndefined(yield* Effect.serviceOption(WorkflowEngine))
      yield* carryOutStart(workflows, action, deliveryId, invalid)
    }
    return { accepted: true }
  })
