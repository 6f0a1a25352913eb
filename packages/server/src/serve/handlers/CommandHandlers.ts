/** Answers about commands, queues and timers, and what is done with them. */
import { Commands, DeadLetters, Queues, Timers } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/Paging.ts"
import { commandView } from "../../api/StoredCommand.ts"
import { CommandNotFailed, CommandNotFound, TimerNotFound } from "../NotThere.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { paged } from "../paged.ts"

export const commandHandlers = HttpApiBuilder.group(
  Api,
  "commands",
  Effect.fnUntraced(function* (handlers) {
    const commands = yield* Commands
    const timers = yield* Timers
    const withCommands = Effect.provideService(Commands, commands)

    const find = (key: string) =>
      Effect.flatMap(commands.get(key), Option.match({ onNone: () => Effect.fail(new CommandNotFound({ key })), onSome: Effect.succeed }))

    /** Shows the command after a change, or says why it could not be changed. */
    const changed = (key: string, wasChanged: boolean) =>
      Effect.flatMap(find(key), (command) =>
        wasChanged ? Effect.succeed(commandView(command)) : Effect.fail(new CommandNotFailed({ key, status: command.status })),
      )

    return handlers
      .handle("list", ({ query: { limit = pageSize, after, ...filter } }) =>
        answering(
          Effect.map(commands.list(filter, limit, after), (page) => paged({ commands: page.commands.map(commandView) }, page.next)),
        ),
      )
      .handle("retryAll", ({ payload: { dryRun = false, ...filter } }) =>
        answering(Effect.map(withCommands(DeadLetters.retryAll(filter, { dryRun })), (count) => ({ count, dryRun }))),
      )
      .handle("retry", ({ params: { key } }) =>
        answering(Effect.flatMap(withCommands(DeadLetters.retry(key)), (retried) => changed(key, retried))),
      )
      .handle("skip", ({ params: { key }, payload: { reason } }) =>
        answering(Effect.flatMap(withCommands(DeadLetters.skip(key, reason)), (skipped) => changed(key, skipped))),
      )
      .handle("get", ({ params: { key } }) => answering(Effect.map(find(key), commandView)))
      .handle("queues", () =>
        answering(
          Effect.gen(function* () {
            const settings = new Map((yield* commands.queues).map((one) => [one.queue, one]))
            const counts = Map.groupBy(yield* commands.counts, ({ queue }) => queue)
            const names = [...new Set([...settings.keys(), ...counts.keys()])].sort()
            const queues = names.map((queue) => ({
              queue,
              paused: settings.get(queue)?.paused ?? false,
              ...optional({ concurrency: settings.get(queue)?.concurrency }),
              counts: Object.fromEntries((counts.get(queue) ?? []).map(({ status, count }) => [status, count])),
            }))
            return { queues }
          }),
        ),
      )
      .handle("pause", ({ params: { queue } }) => answering(withCommands(Queues.pause(queue))))
      .handle("resume", ({ params: { queue } }) => answering(withCommands(Queues.resume(queue))))
      .handle("deadTimers", ({ query: { limit = pageSize } }) => answering(Effect.map(timers.dead(limit), (dead) => ({ timers: dead }))))
      .handle("reviveTimer", ({ payload }) =>
        answering(
          Effect.flatMap(timers.revive(payload), (revived) =>
            revived ? Effect.void : Effect.fail(new TimerNotFound({ name: payload.name, id: payload.id })),
          ),
        ),
      )
  }),
)
