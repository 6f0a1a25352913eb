/** Shared by the commands of schedules. */
import type * as operations from "@detent/workspace/operations/schedules"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { durationText, momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import type { Style } from "../../output/Style.ts"
import { pairsText } from "../../output/Table.ts"
import { changeSchedule } from "../../schedule/changeSchedule.ts"
import { acting, observing, type Place, placeText } from "../../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"

export const schedule = { name: "schedule", summary: "the schedule's name, as `detent schedule list` shows it" } as const

type View = Effect.Success<ReturnType<typeof operations.get>>

export const timesText = ({ cron, timezone, everyMillis }: View): string =>
  cron === undefined ? `every ${durationText(everyMillis ?? 0)}` : `${cron} ${timezone ?? "UTC"}`

export const resultText = ({ outcome, problem, status }: View["runs"][number]): string => problem ?? status?.text ?? outcome

export const viewText = (view: View, style: Style): string =>
  pairsText(
    [
      ["schedule", view.name, style.bold],
      ["status", view.status],
      ["times", timesText(view)],
      ["overlap", view.overlap],
      ["catch-up", view.catchUp],
      ["jitter", view.jitterMillis === 0 ? undefined : `up to ${durationText(view.jitterMillis)}`],
      ["target", view.target === undefined ? undefined : `${view.target.name} ${JSON.stringify(view.target.input)}`],
      ["declared", view.declared ? undefined : "not in the code of this process", style.yellow],
      ["next", view.next.map(momentText).join(", ") || "none"],
      ["waiting", view.waiting === 0 ? undefined : view.waiting],
      ["starting", view.current === undefined ? undefined : `the run of ${momentText(view.current.at)}`],
      ["runs", `${view.started} started, ${view.skipped} skipped, ${view.failed} failed`],
    ],
    style,
  )

/** Without a server, this process makes the change itself. */
export const changingAt = (place: Place, server: RunningServer | undefined) => (server === undefined ? acting(place) : observing(place))

/** Notes that only a server or worker starts runs, where no server runs. */
export const notedWorker = (place: Place, server: RunningServer | undefined) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    if (server === undefined)
      yield* note(noteStyle.dim(`no server runs here; unless a worker does, start one: detent worker${placeText(place)}`))
  })

export const changing = (operation: "pause" | "resume" | "trigger", summary: string, says: string) =>
  command(
    {
      name: `schedule ${operation}`,
      summary,
      arguments: [schedule],
      options: [keyOption],
      examples: [{ line: `detent schedule ${operation} nightly-close`, says }],
    },
    (input) =>
      Effect.gen(function* () {
        const output = yield* Output
        const server = yield* runningServer(input)
        const view = yield* Effect.provide(
          changeSchedule(server, operation, { name: input.schedule, key: input.key }),
          changingAt(input, server),
        )
        yield* output.value(view, () => viewText(view, output.style))
        if (operation === "trigger") yield* notedWorker(input, server)
      }),
  )
