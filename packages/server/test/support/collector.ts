import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"

/** A collector of traces, metrics and logs: what it received, by address. */
export const collecting = Effect.gen(function* () {
  const received = new Map<string, string>()
  const collector = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer((request, response) => {
            let text = ""
            request.on("data", (chunk) => {
              text += chunk
            })
            request.on("end", () => {
              received.set(request.url ?? "", `${received.get(request.url ?? "") ?? ""}${text}`)
              response.end("{}")
            })
          })
          server.listen(0, "127.0.0.1", () => resolve(server))
        }),
    ),
    (server) => Effect.sync(() => server.close()),
  )
  return { received, otlp: `http://127.0.0.1:${(collector.address() as AddressInfo).port}` }
})
