/** Runs a server as a program until a signal stops it, and waits for its graceful shutdown. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { Server } from "./Serve.ts"

/**
 * On SIGINT or SIGTERM the server takes no new work, finishes or releases its work, and exits with 0. If it cannot start, it exits with
 * 1 and logs the reason. `started` is called with its address.
 */
export const runServer = <E>(
  server: Layer.Layer<Server, E>,
  started: (server: (typeof Server)["Service"]) => Effect.Effect<void> = ({ url }) => Effect.logInfo(`serving at ${url}`),
): void => {
  const program = Effect.scoped(
    Effect.gen(function* () {
      const context = yield* Layer.build(server)
      yield* Effect.provideContext(Effect.flatMap(Server, started), context)
      return yield* Effect.never
    }),
  )
  NodeRuntime.runMain(program, {
    teardown: (exit, end) => end(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0),
  })
}
