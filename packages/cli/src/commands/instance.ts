/** `detent instance`: durable runs of machines. */
import type { InstanceKey } from "@detent/durable"
import * as instances from "@detent/workspace/operations/instances"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import type { Handler } from "../Handler.ts"
import { fieldsOf } from "../instance/Fields.ts"
import { addressOf, askQuestion, Started, sendEvent, startInstance } from "../instance/Sending.ts"
import { agreed } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { acting, observing } from "../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../workspace/Server.ts"

/** `failed` where it ended in a final state of failure. */
const statusText = ({ status, outcome }: { readonly status: string; readonly outcome?: "failure" }): string =>
  outcome === "failure" ? "failed" : status

/** A timeout by its name. */
const eventText = (event: { readonly _tag: string; readonly name?: unknown }): string =>
  event._tag === "@timeout" ? `(${String(event.name)})` : event._tag

const statusLooks = (text: string, status: string, style: Style): string => {
  if (status === "held" || status === "failed") return style.red(text)
  return status === "running" ? style.cyan(text) : style.green(text)
}

export const list: Handler<"instance list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { machine, state, status, limit } = input
    const { after } = yield* cursorFrom(input.after)
    if (machine !== undefined) yield* instances.checkState(machine, state)
    const page = yield* instances.list({ machine, state, status, limit, after })
    yield* output.rows(
      page.instances,
      [
        { title: "MACHINE", of: ({ machine }) => machine },
        { title: "ID", of: ({ id }) => id },
        { title: "STATE", of: ({ state }) => state },
        { title: "STATUS", of: statusText, looks: (text, row, style) => statusLooks(text, statusText(row), style) },
        { title: "EVENTS", of: ({ sequence }) => sequence },
        { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
      ],
      "no instances",
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
  }).pipe(Effect.provide(observing(input)))

export const show: Handler<"instance show"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { tag, ...view } = yield* instances.describe(yield* instances.resolve(input.instance), input.at)
    yield* output.value(view, () =>
      pairsText(
        [
          ["machine", view.machine],
          ["id", view.id],
          ["state", typeof view.state === "string" ? tag : JSON.stringify(view.state)],
          ["status", statusText(view), (text) => statusLooks(text, text, output.style)],
          ["reason", view.reason],
          ["problem", problemText(view.misfit)],
          ["events", view.at === undefined ? view.sequence : `${view.at} of ${view.sequence}`],
          ["accepts", view.accepts === undefined ? undefined : view.accepts.join(", ") || "nothing more"],
          ["timers", view.timers.length === 0 ? undefined : view.timers.map(({ name, due }) => `${name} at ${momentText(due)}`).join(", ")],
          ["started", momentText(view.startedAt)],
          ["changed", view.updatedAt === undefined ? undefined : momentText(view.updatedAt)],
        ],
        output.style,
      ),
    )
    const next = nextStepOf(view)
    if (next !== undefined) yield* output.note(next)
  }).pipe(Effect.provide(observing(input)))

interface Shown {
  readonly machine: string
  readonly id: string
  readonly status: string
  readonly at?: number
  readonly misfit?: { readonly sequence: number; readonly problem: string }
  readonly registered?: false
}

const problemText = (misfit: Shown["misfit"]): string | undefined =>
  misfit === undefined
    ? undefined
    : `${misfit.sequence === 0 ? "its beginning" : `event ${misfit.sequence}`} does not fit the definition: ${misfit.problem}`

const unregisteredText = (machine: string) => `machine ${machine} is not in detent.config.ts: add it to machines there to see more`

const nextStepOf = ({ machine, id, status, at, misfit, registered }: Shown): string | undefined => {
  if (registered === false) return unregisteredText(machine)
  if (misfit !== undefined) {
    const correct = "correct the definition or add upcasters"
    const repair = misfit.sequence === 0 ? "" : `, or replace the event: detent instance repair ${machine}/${id} ${misfit.sequence} EVENT`
    return `It cannot run: ${correct}${repair}`
  }
  if (status !== "held" || at !== undefined) return undefined
  return "It fits the definition again: it is released when `detent worker`, `detent dev` or `detent serve` starts, or by the next event sent to it"
}

export const history: Handler<"instance history"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const key = yield* instances.resolve(input.instance)
    const { entries, next } = yield* instances.events(key, input)
    const none = entries.length > 0 ? "" : yield* noEvents(key, input.after)
    yield* output.rows(
      entries,
      [
        { title: "#", of: ({ sequence }) => sequence },
        { title: "AT", of: ({ at }) => momentText(at) },
        { title: "EVENT", of: ({ event }) => eventText(event), looks: (text, _, style) => style.bold(text) },
        { title: "FROM", of: ({ from }) => from ?? "" },
        { title: "TO", of: ({ state }) => state?._tag ?? "" },
        { title: "FIELDS", of: ({ event: { _tag, ...fields } }) => (Object.keys(fields).length === 0 ? "" : JSON.stringify(fields)) },
      ],
      none,
    )
    if (next !== undefined) yield* output.note(`more with --after ${next}`)
    if (!(yield* instances.isRegistered(key))) yield* output.note(unregisteredText(key.machine))
  }).pipe(Effect.provide(observing(input)))

const noEvents = (key: InstanceKey, after: number) =>
  Effect.map(instances.record(key), ({ tag, sequence }) =>
    after > 0 ? `no events after ${after}; its last is ${sequence}` : `it began as ${tag}; no events since`,
  )

export const start: Handler<"instance start"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const fields = input.with === undefined ? undefined : yield* fieldsOf(input.with)
    const server = yield* runningServer(input)
    const started = yield* startInstance(server, { machine: input.machine, id: input.id, fields }).pipe(
      Effect.provide(server === undefined ? acting(input) : observing(input)),
    )
    yield* output.value(started, () => `${JSON.stringify(started.state)}\n`)
  })

export const send: Handler<"instance send"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const fields = yield* fieldsOf(input.with)
    const server = yield* runningServer(input)
    const { instance, event, key } = input
    const { before, sent } = yield* sendEvent(server, { instance, event, fields, key }).pipe(
      Effect.provide(server === undefined ? acting(input) : observing(input)),
    )
    yield* output.value(sent, () => `${JSON.stringify(sent.state)}\n`)
    if (before !== undefined) yield* output.note(`answered from key ${key}: event ${before.sequence}, ${before.event}, was sent before`)
    if (sent.accepts.length > 0) yield* output.note(output.noteStyle.dim(`it accepts ${sent.accepts.join(", ")}`))
  })

export const ask: Handler<"instance ask"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const fields = yield* fieldsOf(input.with)
    const server = yield* runningServer(input)
    const answer = yield* askQuestion(server, { instance: input.instance, event: input.question, fields }).pipe(
      Effect.provide(server === undefined ? acting(input) : observing(input)),
    )
    yield* output.value(answer, () => `${JSON.stringify(answer)}\n`)
  })

export const repair: Handler<"instance repair"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const sequence = Number(input.sequence)
    if (!Number.isSafeInteger(sequence) || sequence < 1)
      return yield* new WrongUsage({ problem: `${input.sequence} is no number of an event`, nextStep: "see `detent instance history`" })
    const fields = yield* fieldsOf(input.with)
    const server = yield* runningServer(input)
    return yield* Effect.gen(function* () {
      const key = yield* instances.resolve(input.instance)
      yield* agreed(`Replace event ${sequence} of ${key.machine}/${key.id} by ${input.event}?`)
      const event = { ...fields, _tag: input.event }
      const { state } = yield* repaired(server, key, sequence, event)
      yield* output.value({ machine: key.machine, id: key.id, state }, () => `${JSON.stringify(state)}\n`)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

const repaired = (server: RunningServer | undefined, key: InstanceKey, sequence: number, event: { readonly _tag: string }) =>
  server === undefined
    ? instances.repair(key, sequence, event)
    : Effect.flatMap(server.post(`${addressOf(key)}/repair`, { json: { sequence, event } }), Schema.decodeUnknownEffect(Started))

export const fork: Handler<"instance fork"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const server = yield* runningServer(input)
    return yield* Effect.gen(function* () {
      const key = yield* instances.resolve(input.instance)
      const through = input.through ?? (yield* instances.record(key)).sequence
      const { machine, id, state } = yield* server === undefined
        ? instances.fork(key, through, input.id)
        : Effect.flatMap(server.post(`${addressOf(key)}/fork`, { json: { through, id: input.id } }), Schema.decodeUnknownEffect(Started))
      yield* output.value({ machine, id, state }, () => `${JSON.stringify(state)}\n`)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

export const purge: Handler<"instance purge"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { machine, "dry-run": dryRun } = input
    const endedBefore = yield* durationOf(input["ended-before"])
    const report = ({ count }: Purged) =>
      output.value(
        { machine, count, dryRun },
        () => `${count} ${count === 1 ? "instance" : "instances"} ${dryRun ? "would be" : count === 1 ? "was" : "were"} removed\n`,
      )
    const found = yield* Effect.provide(instances.purge({ machine, endedBefore, dryRun: true }), observing(input))
    if (dryRun || found.count === 0) return yield* report(found)
    yield* agreed(`Remove ${found.count} of ${machine} that ended at least ${input["ended-before"]} ago, with their histories?`)
    const server = yield* runningServer(input)
    if (server === undefined)
      return yield* report(yield* Effect.provide(instances.purge({ machine, endedBefore, dryRun: false }), acting(input)))
    const json = { endedBeforeMillis: Duration.toMillis(endedBefore) }
    const answer = yield* server.post(`/api/v1/machines/${encodeURIComponent(machine)}/purge`, { json })
    yield* report(yield* Schema.decodeUnknownEffect(Purged)(answer))
  })

/** The part of the server's answer that is shown. */
const Purged = Schema.Struct({ count: Schema.Int })

type Purged = typeof Purged.Type

/** `30days` as well as `30 days`. */
const durationOf = (text: string | undefined) => {
  const [, amount, unit] = /^(\d{1,15})\s*([a-z]{1,7})$/.exec(text ?? "") ?? []
  const duration = Option.flatMap(Option.fromUndefinedOr(amount), () => Duration.fromInput(`${amount} ${unit}` as Duration.Input))
  if (Option.isSome(duration)) return Effect.succeed(duration.value)
  return Effect.fail(
    new WrongUsage({
      problem: text === undefined ? "--ended-before is missing" : `--ended-before ${text} is no duration`,
      nextStep: "write a whole number and a unit, such as 30days, 12hours or 90minutes",
    }),
  )
}
