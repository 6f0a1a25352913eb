/** A reader of server-sent events over plain HTTP. */
import { get, type IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { within } from "../../../store/test/support/patience.ts"

export interface SentEvent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they please.
  readonly data: any
}

export interface EventStream {
  readonly response: IncomingMessage
  readonly events: Array<SentEvent>
  /** Ends when an event fits, or fails after ten seconds. */
  readonly until: (fits: (event: SentEvent) => boolean) => Effect.Effect<SentEvent>
  readonly ended: Effect.Effect<void>
}

export const openEvents = (url: string, headers: Record<string, string> = {}): Effect.Effect<EventStream, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<EventStream>((resolve, reject) => {
          const request = get(url, { headers }, (response) => {
            const events: Array<SentEvent> = []
            let text = ""
            let listeners: Array<() => void> = []
            let isOver = false
            response.setEncoding("utf8")
            response.on("data", (chunk: string) => {
              text += chunk
              const parts = text.split("\n\n")
              text = parts.pop() ?? ""
              for (const part of parts) {
                const fields = new Map(
                  part.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
                )
                if (!fields.has("data")) continue
                events.push({
                  id: fields.get("id") ?? "",
                  event: fields.get("event") ?? "",
                  data: JSON.parse(fields.get("data") ?? "null"),
                })
              }
              for (const listener of listeners) listener()
            })
            const over = () => {
              isOver = true
              for (const listener of listeners) listener()
            }
            response.on("end", over).on("error", over).on("close", over)
            const when = <A>(look: () => A | undefined): Effect.Effect<A> =>
              Effect.callback<A>((resume) => {
                const listener = () => {
                  const found = look()
                  if (found !== undefined) resume(Effect.succeed(found))
                }
                listeners.push(listener)
                listener()
                return Effect.sync(() => {
                  listeners = listeners.filter((one) => one !== listener)
                })
              }).pipe(within("10 seconds"), Effect.orDie)
            resolve({
              response,
              events,
              until: (fits) => when(() => events.find(fits)),
              ended: Effect.asVoid(when(() => (isOver ? true : undefined))),
            })
          })
          request.on("error", reject)
        }),
    ),
    ({ response }) => Effect.sync(() => response.destroy()),
  )
