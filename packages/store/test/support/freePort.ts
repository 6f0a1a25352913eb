/** A port of this host that no process listens on. */
import { createServer } from "node:net"
import * as Effect from "effect/Effect"

export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})
