/**
 * Runs one command and ends the process with its exit code. Ctrl-C interrupts the command: accepted work is stored before the process
 * ends; a second Ctrl-C does not wait for that.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { loadCommand } from "./commands.ts"
import { ExitCode } from "./ExitCode.mjs"
import { type Failure, failureOf } from "./Failure.ts"
import type { Command, GlobalValues, Values } from "./line/Command.ts"
import { eraseLine, Output } from "./output/Output.ts"
import { printable, printableJson } from "./output/Style.ts"
import { Workspaces } from "./Workspaces.ts"

/** Runs one command. Succeeds with its exit code. */
export const execute = ({ name, serves }: Command, values: Values & GlobalValues): Effect.Effect<number, unknown, Workspaces> =>
  Effect.gen(function* () {
    const command = yield* Effect.promise(() => loadCommand(name))
    if (command === undefined) return yield* Effect.die(new Error(`the table of commands is not current: there is no code for ${name}`))
    return (yield* command.run(values)) ?? ExitCode.ok
  }).pipe(Effect.provide(environment(values, serves === true)))

/** Writes the error of a failed command to stderr. Returns the exit code. */
export const concluded = (exit: Exit.Exit<number, unknown>, { serves }: Command, { json }: GlobalValues): number => {
  if (Exit.isSuccess(exit)) return exit.value
  const failure = failureOf(exit.cause)
  if (failure.tag === "Interrupted") return serves ? ExitCode.ok : ExitCode.interrupted
  process.stderr.write(failureText(failure, json))
  return failure.exitCode
}

export const main = (command: Command, values: Values & GlobalValues): void => {
  const fiber = Effect.runFork(Effect.provide(execute(command, values), Workspaces.layer))

  let isInterrupted = false
  const interrupt = () => {
    if (isInterrupted) process.exit(ExitCode.interrupted)
    isInterrupted = true
    fiber.interruptUnsafe()
  }
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
  // A reader that closes the pipe, such as `head`, is not an error.
  process.stdout.on("error", () => process.exit(ExitCode.ok))
  // Without a reader of its log, a server continues, and a command still has its exit code.
  process.stderr.on("error", () => undefined)

  fiber.addObserver((exit) => end(concluded(exit, command, values)))
}

/** Exits after the output is flushed, also while worker threads or idle connections are open. */
const end = (code: number): void => {
  process.exitCode = code
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)))
}

const failureText = ({ tag, message, exitCode }: Failure, isJson: boolean): string =>
  isJson ? `${printableJson({ error: { tag, message, exitCode } })}\n` : `detent: ${printable(message)}\n`

/** Logs go to stderr. A command reports its own progress, so most log only warnings and errors. */
const environment = (input: GlobalValues, serves: boolean) =>
  Layer.mergeAll(
    Output.layer(input),
    loggers(serves),
    Layer.succeed(Logger.LogToStderr, true),
    Layer.succeed(References.MinimumLogLevel, serves ? "Info" : "Warn"),
  )

/** Without a terminal, logs of a server are JSON for a log collector. In a terminal, a log takes the place of a progress bar. */
const loggers = (serves: boolean) => {
  const isTerminal = process.stderr.isTTY === true
  if (serves) return isTerminal ? Layer.empty : Logger.layer([Logger.withConsoleError(Logger.formatJson)])
  return isTerminal && process.env["TERM"] !== "dumb" ? Logger.layer([aboveProgress]) : Layer.empty
}

/** The bar is drawn again below the log at the next change. */
const aboveProgress = Logger.make<unknown, void>((logged) => {
  process.stderr.write(eraseLine)
  Logger.defaultLogger.log(logged)
})
