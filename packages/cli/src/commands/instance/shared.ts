import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import type { Style } from "../../output/Style.ts"
import { type Place, placeText } from "../../workspace/Opening.ts"
import type { RunningServer } from "../../workspace/Server.ts"

/** `failed` where the instance ended in a final state of failure. */
export const statusText = ({ status, outcome }: { readonly status: string; readonly outcome?: "failure" }): string =>
  outcome === "failure" ? "failed" : status

/** The name of an event: of its timer for a timeout, and of its label where the machine sent it to itself. */
export const eventText = (event: { readonly _tag: string; readonly name?: unknown; readonly label?: unknown }): string => {
  if (event._tag === "@timeout") return `(${String(event.name)})`
  return event._tag.startsWith("(") && typeof event.label === "string" ? event.label : event._tag
}

export const statusLooks = (text: string, status: string, style: Style): string => {
  if (status === "held" || status === "failed") return style.red(text)
  return status === "running" ? style.cyan(text) : style.green(text)
}

type Delay = NonNullable<instances.HistoryRow["delays"]>[number]

/** A delayed event that was scheduled; without `due`, one that was cancelled. */
export const delayText = ({ name, due, event }: Delay): string => {
  if (due === undefined) return `${name} cancelled`
  return `${name}${event === undefined ? "" : `: ${event._tag}`} at ${momentText(due)}`
}

export const unregisteredText = (machine: string) => `machine ${machine} is not in detent.config.ts: add it to machines there to see more`

/** Notes that only a server or worker runs the work of a state, where no server runs and no process has the work. */
export const noteWorker = (place: Place, server: RunningServer | undefined, key: Parameters<typeof instances.record>[0]) =>
  Effect.gen(function* () {
    if (server !== undefined) return
    const { note, noteStyle } = yield* Output
    const { status, needsOwner, owner, tag } = yield* instances.record(key)
    if (status === "running" && needsOwner && owner === undefined)
      yield* note(
        noteStyle.dim(`the work of ${tag} runs in a worker or server; unless one runs, start it: detent worker${placeText(place)}`),
      )
  })
