/**
 * Six orders live in an actor system, in your terminal. One is cancelled by its timeout, one event is
 * refused, and every command is counted.
 *
 * This file displays them; the events are in `Scenario.ts`, the machine in `../order/Order.ts`.
 */
import { ActorSystem, type ActorSystemService } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { Board } from "./Board.ts"
import { line } from "./Line.ts"
import { picture } from "./Picture.ts"
import { play } from "./Scenario.ts"
import { coloured, plain, type Style } from "./Style.ts"
import { summary } from "./Summary.ts"

const out = process.stdout
const height = picture(new Board(), plain, 0, 80).length

/** Redraws the picture in place several times a second, and a last time at the end. */
const showPicture = (board: Board, style: Style): Effect.Effect<void, never, Scope.Scope> => {
  let drawn = 0
  const draw = () => {
    const lines = picture(board, style, Date.now(), out.columns)
    out.write(`${drawn > 0 ? `\r\x1b[${drawn}A` : ""}${lines.map((one) => `\x1b[2K${one}\n`).join("")}`)
    drawn = lines.length
  }
  return Effect.gen(function* () {
    yield* Effect.acquireRelease(
      Effect.sync(() => out.write("\x1b[?25l")),
      () => Effect.sync(() => out.write("\x1b[?25h")),
    )
    const redrawing = yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(draw, 80)),
      (timer) =>
        Effect.sync(() => {
          clearInterval(timer)
          draw()
        }),
    )
    redrawing.unref()
  })
}

const showLines = (system: ActorSystemService, style: Style): Effect.Effect<void, never, Scope.Scope> => {
  const startedAt = Date.now()
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() =>
        system.inspectUnsafe((inspection) => {
          const text = line(inspection, style, startedAt)
          if (text !== undefined) out.write(`${text}\n`)
        }),
      ),
      (unsubscribe) => Effect.sync(unsubscribe),
    ),
  )
}

const demo = Effect.gen(function* () {
  // Yields until the signal handlers are installed: an early Ctrl-C must find the cursor visible, or restore it.
  yield* Effect.yieldNow
  const system = yield* ActorSystem
  const isTerminal = out.isTTY === true && process.env["TERM"] !== "dumb"
  const style = isTerminal && !process.env["NO_COLOR"] ? coloured : plain
  const board = new Board()
  system.inspectUnsafe((inspection) => board.hear(inspection))
  // A picture higher than the window cannot be redrawn in place.
  const show = isTerminal && out.rows > height + 2 ? showPicture(board, style) : showLines(system, style)
  out.write(style.bold("Six orders, each an actor of the machine in examples/order/Order.ts\n\n"))
  yield* Effect.scoped(Effect.andThen(show, play))
  out.write(`\n${summary(board, style)}`)
}).pipe(Effect.provide(ActorSystem.layer))

/** Ctrl-C interrupts the demo, which restores the cursor and ends with exit code 130, as usual. */
const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  const interrupt = () => fiber.interruptUnsafe()
  process.once("SIGINT", interrupt)
  process.once("SIGTERM", interrupt)
  // The reader of the output has closed it, as in `npx node examples/orders/run.ts | head`.
  out.once("error", interrupt)
  fiber.addObserver((exit) =>
    teardown(exit, (code) => {
      process.exitCode = code
    }),
  )
})

if (import.meta.main) runMain(demo)
