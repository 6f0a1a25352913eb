/**
 * What waits for a machine that no process has registered waits for ever: deadlines that nobody meets, commands that nobody
 * executes. The log is told once for each machine.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CommandsService } from "../store/Commands.ts"
import type { EngineCore } from "./EngineCore.ts"

/** A program registers its machines when it starts. */
const firstLookMillis = 60_000
const intervalMillis = 300_000

/** Whoever has registered the machine would have come by now: twice what a sweeper sleeps, or a claim lasts. */
const patienceMillis = 30_000

/** So many commands are looked at, the oldest. */
const commandLimit = 500

/** Effect workflows are instances too, and registered elsewhere. */
const workflowPrefix = "workflow/"

/** Without `commands`, those are left to other processes. */
export const warnOfUnserved = (core: EngineCore, commands: Option.Option<CommandsService>): Effect.Effect<never> =>
  Effect.gen(function* () {
    const told = new Set<string>()
    const isUnknown = (name: string) => !told.has(name) && !name.startsWith(workflowPrefix) && core.registered(name) === undefined
    const tell = (name: string, what: string) => {
      told.add(name)
      return Effect.logWarning(
        `${what} of machine ${name}, and it is not registered here: \`yield* engine.register(${variableOf(name)})\` when the process starts`,
      )
    }
    const look = Effect.gen(function* () {
      const before = (yield* Clock.currentTimeMillis) - patienceMillis
      const timed = yield* core.timers.unserved(core.machineNames, patienceMillis)
      for (const name of timed.filter(isUnknown)) yield* tell(name, "nobody fires the due timers")
      if (Option.isNone(commands)) return
      const requesting = yield* waitingCommands(commands.value, before)
      for (const name of requesting.filter(isUnknown)) {
        // Where another process executes them they may wait for long, too.
        const { commands: executed } = yield* commands.value.list({ machine: name, status: "processing" }, 1)
        if (executed.length === 0) yield* tell(name, "nobody executes the commands")
      }
    })
    yield* Effect.sleep(firstLookMillis)
    // A store that is away is told of by the sweeper.
    return yield* Effect.forever(Effect.andThen(Effect.ignore(look), Effect.sleep(intervalMillis)))
  })

const waitingCommands = ({ list }: CommandsService, before: number): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.map(list({ status: "pending", enqueuedBefore: before }, commandLimit), ({ commands }) => [
    ...new Set(commands.flatMap(({ instance, runAt }) => (instance === undefined || runAt > before ? [] : [instance.machine]))),
  ])

/** What its definition is likely to be called. */
const variableOf = (name: string): string => name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase())
