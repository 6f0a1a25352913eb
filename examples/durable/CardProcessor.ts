/**
 * A local card processor, for the example and its test. Like real ones it honours idempotency keys: a second charge with the
 * same key gets the first receipt, and nothing is charged twice. It is unreliable on purpose: it makes some charges and loses
 * the answer.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface CardProcessor {
  readonly url: string
  /** The charges, by idempotency key. */
  readonly charges: ReadonlyMap<string, { readonly card: string; readonly total: number; readonly receipt: string }>
  /** The number of requests so far. */
  readonly requests: () => number
}

/** Listens until the scope ends. This many of the first answers are lost. */
export const startCardProcessor = (lostAnswers: number): Effect.Effect<CardProcessor, never, Scope.Scope> =>
  Effect.gen(function* () {
    const charges = new Map<string, { readonly card: string; readonly total: number; readonly receipt: string }>()
    let requests = 0
    const charge = (key: string, { card, total }: { readonly card: string; readonly total: number }, response: ServerResponse) => {
      requests++
      if (card.endsWith("0000")) return answer(response, 402, { declined: "no funds" })
      const made = charges.get(key) ?? { card, total, receipt: `receipt-${charges.size + 1}` }
      charges.set(key, made)
      return requests <= lostAnswers ? response.destroy() : answer(response, 200, { receipt: made.receipt })
    }
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => {
        body += String(chunk)
      })
      request.on("end", () => charge(String(request.headers["idempotency-key"]), JSON.parse(body), response))
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () => Effect.sync(() => server.close()),
    )
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/charges`, charges, requests: () => requests }
  })

const answer = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}
