/**
 * The providers of the demo shop, on a loopback port: a bank that keeps the rules of payment APIs, and a mail server. The bank records a
 * charge before it answers, so that a shop that is killed in between does not know of it, and answers a repeated idempotency key with
 * the first charge. Charges are kept in a file, and are still there when the process starts again.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

const ChargeRequest = Schema.fromJsonString(Schema.Struct({ customer: Schema.String, amount: Schema.Finite }))
const MailRequest = Schema.fromJsonString(Schema.Struct({ to: Schema.String, text: Schema.String }))

export class Charge extends Schema.Class<Charge>("Charge")({
  key: Schema.String,
  receipt: Schema.String,
  customer: Schema.String,
  amount: Schema.Finite,
}) {}

const ChargeLine = Schema.fromJsonString(Charge)

export interface Provider {
  readonly url: string
  readonly charges: () => ReadonlyArray<Charge>
  /** How many requests asked for the charge of a customer, repeated ones included. */
  readonly requestsOf: (customer: string) => number
}

export interface ProviderOptions {
  /** The file of the charges. */
  readonly ledger: string
  /** How long the bank takes to answer the first request of a charge, in milliseconds. */
  readonly answersAfter: number
  /** How many mails to a customer are refused, because the mailbox is full. */
  readonly fullMailboxes: Readonly<Record<string, number>>
}

const mostBytes = 64 * 1024

/** Serves bank and mail until the scope ends. */
export const serveProvider = ({ ledger, answersAfter, fullMailboxes }: ProviderOptions): Effect.Effect<Provider, never, Scope.Scope> =>
  Effect.gen(function* () {
    mkdirSync(dirname(ledger), { recursive: true })
    const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n").filter(Boolean) : []
    const charges = new Map(lines.map((line) => Schema.decodeSync(ChargeLine)(line)).map((charge) => [charge.key, charge]))
    const requests = new Map<string, number>()
    const refusals = new Map(Object.entries(fullMailboxes))

    const charge = (key: string, body: string, answer: Answer) => {
      const { customer, amount } = Schema.decodeSync(ChargeRequest)(body)
      requests.set(customer, (requests.get(customer) ?? 0) + 1)
      const known = charges.get(key)
      if (known !== undefined && (known.customer !== customer || known.amount !== amount))
        return answer(422, { problem: "this idempotency key was used for another charge" })
      if (known !== undefined) return answer(200, { receipt: known.receipt })
      const made = new Charge({ key, receipt: `receipt-${charges.size + 1}`, customer, amount })
      charges.set(key, made)
      appendFileSync(ledger, `${Schema.encodeSync(ChargeLine)(made)}\n`)
      // The bank is a server of its own, outside of Effect.
      // @effect-diagnostics-next-line globalTimers:off
      setTimeout(() => answer(200, { receipt: made.receipt }), answersAfter)
    }
    const mail = (body: string, answer: Answer) => {
      const { to } = Schema.decodeSync(MailRequest)(body)
      const left = refusals.get(to) ?? 0
      if (left === 0) return answer(202, {})
      refusals.set(to, left - 1)
      answer(507, { problem: `452 4.2.2 the mailbox of ${to} is full` })
    }

    const server = createServer((request, response) => {
      const answer = answering(response)
      const key = request.headers["idempotency-key"]
      textOf(request).then(
        (body) => {
          try {
            if (request.method !== "POST" || typeof key !== "string") answer(400, { problem: "POST with an Idempotency-Key" })
            else if (request.url === "/charges") charge(key, body, answer)
            else if (request.url === "/mails") mail(body, answer)
            else answer(404, { problem: "no such address" })
          } catch (error) {
            answer(400, { problem: error instanceof Error ? error.message : String(error) })
          }
        },
        (error: unknown) => answer(413, { problem: String(error) }),
      )
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        }),
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      charges: () => [...charges.values()],
      requestsOf: (customer) => requests.get(customer) ?? 0,
    }
  })

type Answer = (status: number, body: Readonly<Record<string, string>>) => void

const answering =
  (response: ServerResponse): Answer =>
  (status, body) => {
    // The shop may have been killed while the bank was busy.
    if (response.destroyed) return
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const part of request) {
    text += String(part)
    if (text.length > mostBytes) throw new Error(`a request has at most ${mostBytes} characters`)
  }
  return text
}
