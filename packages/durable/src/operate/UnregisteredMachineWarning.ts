/** Timers and commands of a machine that no process has registered wait forever. Logs one warning per machine. */

import type { CommandsService } from "@detent/store"
import { forkLoop } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { EngineParts } from "../engine/EngineParts.ts"

/** A program registers its machines when it starts: the first check comes after that. */
const firstLookMillis = 60_000
const intervalMillis = 300_000

/** A process that has registered the machine would have acted by now: twice the sleep of a sweeper, or the time of a claim. */
const patienceMillis = 30_000

/** Effect workflows are instances too, but are not registered here. */
const workflowPrefix = "workflow/"

/** Without `commands`, other processes execute the commands, and only timers are checked. */
export const warnOfUnregistered = (
  engine: EngineParts,
  commands: Option.Option<CommandsService>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const warned = new Set<string>()
    const isUnknown = (name: string) => !warned.has(name) && !name.startsWith(workflowPrefix) && engine.registry.get(name) === undefined
    const warn = (name: string, what: string) => {
      warned.add(name)
      return Effect.logWarning(
        `${what} of machine ${name} wait: it is not registered here; call \`yield* engine.register(${variableOf(name)})\` when the process starts`,
      )
    }
    const look = Effect.gen(function* () {
      const timed = yield* engine.timerStore.unserved(engine.registry.names, patienceMillis)
      for (const name of timed.filter(isUnknown)) yield* warn(name, "due timers")
      if (Option.isNone(commands)) return
      // Does not return machines whose commands another process executes slowly: some of those are being executed.
      for (const name of (yield* commands.value.unserved(patienceMillis)).filter(isUnknown)) yield* warn(name, "commands")
    })
    let pause = firstLookMillis
    const turn = Effect.andThen(
      Effect.suspend(() => Effect.sleep(pause)),
      Effect.tap(look, () =>
        Effect.sync(() => {
          pause = intervalMillis
        }),
      ),
    )
    return forkLoop("warning of unregistered machines", turn)
  })

/** The likely variable name of the machine's definition. */
const variableOf = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join("")
