/** `detent instance`: durable runs of machines. */
import type { InstanceKey } from "@detent/durable"
import { bulk as bulkSend } from "@detent/workspace/operations/bulk"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { WrongUsage } from "../Failure.ts"
import { fieldsOf } from "../instance/Fields.ts"
import { addressOf, askQuestion, Started, sendEvent, startInstance } from "../instance/Sending.ts"
import { command } from "../line/Command.ts"
import { ExitCode } from "../line/ExitCode.mjs"
import { agreed } from "../output/Asking.ts"
import { counted } from "../output/Count.ts"
import { durationIn, momentOf, momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { oneLine, type Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { changed } from "../workspace/Changing.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { acting, actingOnMany, observing, type Place, placeText } from "../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../workspace/Server.ts"
import { instanceArgument, keyOption, machineArgument, paging } from "./shared.ts"

/** `failed` where the instance ended in a final state of failure. */
const statusText = ({ status, outcome }: { readonly status: string; readonly outcome?: "failure" }): string =>
  outcome === "failure" ? "failed" : status

/** The name of an event; for a timeout, the name of its timer. */
const eventText = (event: { readonly _tag: string; readonly name?: unknown }): string =>
  event._tag === "@timeout" ? `(${String(event.name)})` : event._tag

const statusLooks = (text: string, status: string, style: Style): string => {
  if (status === "held" || status === "failed") return style.red(text)
  return status === "running" ? style.cyan(text) : style.green(text)
}

const list = command(
  {
    name: "instance list",
    summary: "instances, oldest change first",
    arguments: [],
    options: [
      {
        name: "order",
        kind: "text",
        value: "ORDER",
        choices: ["oldest", "newest"],
        summary: "by the time of the last change. Default: oldest first",
      },
      { name: "search", kind: "text", value: "START", summary: "only ids that begin with this text, listed by machine and id" },
      { name: "machine", kind: "text", value: "NAME", summary: "only instances of this machine" },
      { name: "state", kind: "text", value: "STATE", summary: "only instances in this state" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held", "failed"],
        summary: "only instances with this status; failed: ended in a final state of failure, which final includes",
      },
      {
        name: "updated-after",
        kind: "text",
        value: "TIME",
        summary: "only instances changed after this time, such as 2026-11-16T09:30:00Z",
      },
      { name: "updated-before", kind: "text", value: "TIME", summary: "only instances changed before this time" },
      ...paging,
    ],
    examples: [
      { line: "detent instance list --machine order --state Paid", says: "orders that are paid" },
      { line: "detent instance list --status held", says: "instances that wait for a repair" },
      { line: "detent instance list --order newest --limit 10", says: "the latest changes" },
      { line: "detent instance list --search order-7", says: "instances whose id begins with order-7" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, order, search, limit } = input
      const { after } = yield* cursorFrom(input.after)
      if (machine !== undefined) yield* instances.checkState(machine, state)
      const updatedAfter = yield* momentOf("updated-after", input["updated-after"])
      const updatedBefore = yield* momentOf("updated-before", input["updated-before"])
      const page = yield* instances.list({ machine, state, status, order, search, updatedAfter, updatedBefore, limit, after })
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
      if (page.scanned !== undefined) yield* output.note(`the page ended after ${page.scanned} examined instances`)
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

const show = command(
  {
    name: "instance show",
    summary: "the state of an instance, and the events that it accepts now",
    arguments: [instanceArgument],
    options: [{ name: "at", kind: "integer", value: "N", summary: "show the state after event number N" }],
    examples: [{ line: "detent instance show order/order-7 --at 2", says: "the state after its second event" }],
  },
  (input) =>
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
            [
              "timers",
              view.timers.length === 0 ? undefined : view.timers.map(({ name, due }) => `${name} at ${momentText(due)}`).join(", "),
            ],
            ["delays", view.delays?.map(delayText).join(", ")],
            ["started", momentText(view.startedAt)],
            ["changed", view.updatedAt === undefined ? undefined : momentText(view.updatedAt)],
          ],
          output.style,
        ),
      )
      const next = nextStepOf(view)
      if (next !== undefined) yield* output.note(next)
    }).pipe(Effect.provide(observing(input))),
)

type Delay = NonNullable<instances.HistoryRow["delays"]>[number]

/** A delayed event that was scheduled; without `due`, one that was cancelled. */
const delayText = ({ name, due, event }: Delay): string => {
  if (due === undefined) return `${name} cancelled`
  return `${name}${event === undefined ? "" : `: ${event._tag}`} at ${momentText(due)}`
}

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
    : `${misfit.sequence === 0 ? "its first state" : `event ${misfit.sequence}`} does not fit the definition: ${misfit.problem}`

const unregisteredText = (machine: string) => `machine ${machine} is not in detent.config.ts: add it to machines there to see more`

const nextStepOf = ({ machine, id, status, at, misfit, registered }: Shown): string | undefined => {
  if (registered === false) return unregisteredText(machine)
  if (misfit !== undefined) {
    const correct = "correct the definition or add upcasters"
    const repair = misfit.sequence === 0 ? "" : `, or replace the event: detent instance repair ${machine}/${id} ${misfit.sequence} EVENT`
    return `It cannot run: ${correct}${repair}`
  }
  if (status !== "held" || at !== undefined) return undefined
  return "It fits the definition again: the next start of `detent worker`, `detent dev` or `detent serve`, or the next event, releases it"
}

const history = command(
  {
    name: "instance history",
    summary: "the events of an instance, with the states before and after each",
    arguments: [instanceArgument],
    options: [
      { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many events; the maximum is 1000" },
      { name: "after", kind: "integer", value: "N", default: 0, minimum: 0, summary: "only events after number N" },
      { name: "before", kind: "integer", value: "N", minimum: 1, summary: "only events before number N" },
      {
        name: "order",
        kind: "text",
        value: "ORDER",
        choices: ["oldest", "newest"],
        default: "oldest",
        summary: "the events that come first",
      },
      { name: "event", kind: "text", value: "TEXT", summary: "only events whose name contains this text" },
      { name: "brief", kind: "flag", summary: "omit the fields of states and events" },
    ],
    examples: [
      { line: "detent instance history order-7 --limit 3 --json", says: "the first three events, one per line" },
      { line: "detent instance history order-7 --order newest --limit 10", says: "the latest events" },
      { line: "detent instance history order-7 --event pay", says: "events such as Pay, Repay and Paypal" },
      { line: "detent instance history order-7 --after 100", says: "the next page" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const key = yield* instances.resolve(input.instance)
      const { limit, after, before, event, brief } = input
      const isNewestFirst = input.order === "newest"
      const page = { limit, after, before, event, brief, order: isNewestFirst ? ("desc" as const) : ("asc" as const) }
      const { entries, next, scanned } = yield* instances.events(key, page)
      const none = entries.length > 0 ? "" : event === undefined ? yield* noEvents(key, after) : `the name of no event contains ${event}`
      yield* output.rows(
        entries,
        [
          { title: "#", of: ({ sequence }) => sequence },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "EVENT", of: ({ event }) => eventText(event), looks: (text, _, style) => style.bold(text) },
          { title: "FROM", of: ({ from }) => from ?? "" },
          { title: "TO", of: ({ state }) => state?._tag ?? "" },
          { title: "FIELDS", of: ({ event: { _tag, ...fields } }) => (Object.keys(fields).length === 0 ? "" : JSON.stringify(fields)) },
          ...(entries.some(({ delays }) => delays !== undefined)
            ? [{ title: "DELAYS", of: ({ delays = [] }: instances.HistoryRow) => delays.map(delayText).join(", ") }]
            : []),
        ],
        none,
      )
      if (scanned !== undefined) yield* output.note(`the page ended after ${scanned} examined events`)
      if (next !== undefined) yield* output.note(`more with ${isNewestFirst ? "--before" : "--after"} ${next}`)
      if (!(yield* instances.isRegistered(key))) yield* output.note(unregisteredText(key.machine))
    }).pipe(Effect.provide(observing(input))),
)

const noEvents = (key: InstanceKey, after: number) =>
  Effect.map(instances.record(key), ({ tag, sequence }) =>
    after > 0 ? `no events after ${after}; the last event is ${sequence}` : `it began as ${tag}; no events since`,
  )

const watch = command(
  {
    name: "instance watch",
    summary: "follow the events of an instance until it ends; does no work itself",
    detail:
      "Shows events from any process: a server, a worker, another terminal. Ctrl-C stops following; the instance continues.\n" +
      "Also follows executions, as workflow/NAME/ID. Exits with 1 if the instance ends in failure.",
    arguments: [instanceArgument],
    options: [{ name: "after", kind: "integer", value: "N", minimum: 0, summary: "begin after event number N. Default: the latest event" }],
    examples: [
      { line: "detent instance watch order-7", says: "new events only" },
      { line: "detent instance watch order-7 --after 0 --json", says: "all events, one JSON line each" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const key = yield* instances.resolve(input.instance)
      const name = `${key.machine}/${key.id}`
      const standing = yield* instances.record(key)
      let last = Math.min(input.after ?? standing.sequence, standing.sequence)
      if (!instances.hasEnded(standing.status))
        yield* output.note(output.noteStyle.dim(`${name} is ${standing.tag}; its last event is ${standing.sequence}`))
      const shown = Stream.runForEach(instances.watch(key, { after: last }), (row) => {
        last = row.sequence
        return output.value(row, () => eventLine(row, output.style))
      })
      yield* Effect.onInterrupt(shown, () =>
        output.note(
          `No longer watching; the instance is not affected. Watch again with: detent instance watch ${name} --after ${last}${placeText(input)}`,
        ),
      )
      const end = yield* instances.describe(key)
      yield* output.note(`${name} has ended: it is ${end.tag}`)
      if (!isFailure(end)) return ExitCode.ok
      if (key.machine.startsWith("workflow/")) yield* output.note(`see why: detent execution show ${name}${placeText(input)}`)
      return ExitCode.failed
    }).pipe(Effect.provide(observing(input))),
)

const eventLine = ({ sequence, at, event, from, state }: instances.HistoryRow, style: Style): string => {
  const { _tag, ...fields } = event
  const way = from === undefined || state === undefined ? "" : from === state._tag ? from : `${from} -> ${state._tag}`
  const given = Object.keys(fields).length === 0 ? "" : JSON.stringify(fields)
  const parts = [style.dim(`${sequence}  ${momentText(at)}`), style.bold(oneLine(eventText(event))), oneLine(way), oneLine(given)]
  return `${parts.filter((part) => part !== "").join("  ")}\n`
}

/** For executions, the phase decides. */
const isFailure = ({ machine, tag, outcome }: { readonly machine: string; readonly tag: string; readonly outcome?: "failure" }): boolean =>
  outcome === "failure" || (machine.startsWith("workflow/") && tag !== "Completed")

const start = command(
  {
    name: "instance start",
    summary: "start an instance of a machine",
    arguments: [machineArgument, { name: "id", summary: "the id of the new instance" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the fields of the first state" },
      { name: "state", kind: "text", value: "STATE", summary: "begin in this state, with all its fields. Default: the first state" },
      keyOption,
    ],
    examples: [
      {
        line: `detent instance start order order-7 --with '{"item":"lamp","total":42}'`,
        says: "the instance is stored when the command returns",
      },
      {
        line: `detent instance start order order-8 --state Paid --with '{"item":"lamp","total":42}'`,
        says: "for an import of existing orders",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = input.with === undefined ? undefined : yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const { machine, id, state, key } = input
      yield* Effect.gen(function* () {
        const started = yield* startInstance(server, { machine, id, fields, state, key })
        yield* output.value(started, () => `${JSON.stringify(started.state)}\n`)
        yield* notedWork(input, server, started)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

const send = command(
  {
    name: "instance send",
    summary: "send an event that the instance's state accepts",
    arguments: [instanceArgument, { name: "event", summary: "the event's name" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields" },
      { name: "dry-run", kind: "flag", summary: "only decide, guards included: show what the event would do, and store nothing" },
      keyOption,
    ],
    examples: [
      {
        line: "detent instance send order-7 Cancel --dry-run",
        says: "the state that the event would lead to, and the effects it would request",
      },
      { line: `detent instance send order-7 Pay --with '{"transactionId":"t-9"}' --key webhook-77`, says: "safe to repeat" },
      {
        line: `detent instance send order-7 Ship --with '{"trackingNumber":"NL-4711"}'`,
        says: "with the fields that `detent machine show` lists",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = yield* fieldsOf(input.with)
      if (input["dry-run"]) return yield* previewed(input, { ...fields, _tag: input.event })
      const server = yield* runningServer(input)
      const { instance, event, key } = input
      yield* Effect.gen(function* () {
        const { before, sent } = yield* sendEvent(server, { instance, event, fields, key })
        yield* output.value(sent, () => `${JSON.stringify(sent.state)}\n`)
        if (before !== undefined) yield* output.note(`answered from key ${key}: event ${before.sequence}, ${before.event}, was sent before`)
        if (sent.accepts.length > 0) yield* output.note(output.noteStyle.dim(`the instance accepts ${sent.accepts.join(", ")}`))
        yield* notedWork(input, server, sent)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

/** Notes that only a server or worker runs the work of a state, where no server runs and no process has the work. */
const notedWork = (place: Place, server: RunningServer | undefined, key: Parameters<typeof instances.record>[0]) =>
  Effect.gen(function* () {
    if (server !== undefined) return
    const { note, noteStyle } = yield* Output
    const { status, resident, owner, tag } = yield* instances.record(key)
    if (status === "running" && resident && owner === undefined)
      yield* note(
        noteStyle.dim(`the work of ${tag} runs in a worker or server; unless one runs, start it: detent worker${placeText(place)}`),
      )
  })

/** Decides the event in this process from the stored data, without the owner of the instance. */
const previewed = (input: Parameters<typeof observing>[0] & { readonly instance: string }, event: { readonly _tag: string }) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { outcome, from, state, requests, raises, postponed } = yield* Effect.provide(
      Effect.flatMap(instances.resolve(input.instance), (key) => instances.preview(key, event)),
      observing(input),
    )
    const view = { outcome, from, state, requests, raises, ...(postponed === undefined ? {} : { postponed }) }
    yield* output.value({ ...view, dryRun: true }, () =>
      pairsText(
        [
          ["from", from],
          ["to", postponed === true ? "the event would be postponed until the next state" : JSON.stringify(state)],
          ["outcome", outcome],
          ["requests", requests.join(", ") || undefined],
          ["raises", raises.join(", ") || undefined],
        ],
        output.style,
      ),
    )
    yield* output.note("nothing was sent")
  })

const ask = command(
  {
    name: "instance ask",
    summary: "ask a question, and print the answer as JSON; final states answer too",
    arguments: [instanceArgument, { name: "question", summary: "the name of an event with a reply" }],
    options: [{ name: "with", kind: "text", value: "JSON", summary: "the event's fields" }],
    examples: [
      { line: "detent instance ask order-7 GetTotal", says: "an event that only has a reply changes nothing and is not journaled" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const answer = yield* askQuestion(server, { instance: input.instance, event: input.question, fields }).pipe(
        Effect.provide(server === undefined ? acting(input) : observing(input)),
      )
      yield* output.value(answer, () => `${JSON.stringify(answer)}\n`)
    }),
)

const repair = command(
  {
    name: "instance repair",
    summary: "replace a stored event that no longer fits the definition, and release a held instance",
    arguments: [
      instanceArgument,
      { name: "sequence", summary: "the number of the event, as the error and the history show it" },
      { name: "event", summary: "the event's name" },
    ],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields; ••• keeps the stored value of a sensitive field" },
      { name: "dry-run", kind: "flag", summary: "only check whether the instance would then replay" },
      keyOption,
    ],
    examples: [
      { line: `detent instance repair order-7 1 Pay --with '{"transactionId":"t-9"}' --yes`, says: "the later events are replayed on it" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const sequence = Number(input.sequence)
      if (!Number.isSafeInteger(sequence) || sequence < 1)
        return yield* new WrongUsage({
          problem: `${input.sequence} is not a number of an event`,
          nextStep: "see `detent instance history`",
        })
      const fields = yield* fieldsOf(input.with)
      if (input["dry-run"]) {
        const trying = Effect.flatMap(instances.resolve(input.instance), (key) =>
          instances.repair(key, sequence, { ...fields, _tag: input.event }, { dryRun: true }),
        )
        yield* Effect.provide(trying, observing(input))
        return yield* output.value({ repaired: false, dryRun: true }, () => "it would replay; nothing was changed\n")
      }
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        yield* agreed(`Replace event ${sequence} of ${key.machine}/${key.id} by ${input.event}?`)
        const event = { ...fields, _tag: input.event }
        const { state } = yield* changed(
          server,
          {
            operation: "instances.repair",
            params: { machine: key.machine, id: key.id },
            path: `${addressOf(key)}/repair`,
            json: { sequence, event },
            answer: Started,
            key: input.key,
          },
          instances.repair(key, sequence, event),
        )
        yield* output.value({ machine: key.machine, id: key.id, state }, () => `${JSON.stringify(state)}\n`)
        yield* notedWork(input, server, key)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

const fork = command(
  {
    name: "instance fork",
    summary: "create an instance with the history of another up to an event",
    detail: "Commands that the original instance requested are not executed again.",
    arguments: [instanceArgument, { name: "id", summary: "the id of the new instance" }],
    options: [{ name: "through", kind: "integer", value: "N", summary: "the last event to copy. Default: all events" }, keyOption],
    examples: [
      { line: "detent instance fork order-7 order-7-again --through 2", says: "begins in the state of order-7 after its second event" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        const through = input.through ?? (yield* instances.record(key)).sequence
        const { machine, id, state } = yield* changed(
          server,
          {
            operation: "instances.fork",
            params: { machine: key.machine, id: key.id },
            path: `${addressOf(key)}/fork`,
            json: { id: input.id, through },
            answer: Started,
            key: input.key,
          },
          instances.fork(key, through, input.id),
        )
        yield* output.value({ machine, id, state }, () => `${JSON.stringify(state)}\n`)
        yield* notedWork(input, server, { machine, id })
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

/** The part of the server's answer that is shown. */
const Bulk = Schema.Struct({
  count: Schema.Int,
  atLeast: Schema.optionalKey(Schema.Literal(true)),
  sample: Schema.Array(Schema.String),
  job: Schema.optionalKey(Schema.Struct({ machine: Schema.String, id: Schema.String })),
})

const bulk = command(
  {
    name: "instance bulk",
    summary: "send an event to all instances of a machine that meet conditions",
    detail: "The job is an instance itself: it resumes after a restart, and the event Cancel ends it. Each instance gets the event once.",
    arguments: [machineArgument, { name: "event", summary: "the event's name" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields" },
      { name: "state", kind: "text", value: "STATE", summary: "only instances in this state" },
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["running", "final", "stopped", "held", "failed"],
        summary: "only instances with this status",
      },
      { name: "search", kind: "text", value: "START", summary: "only instances whose id begins with this text" },
      {
        name: "updated-after",
        kind: "text",
        value: "TIME",
        summary: "only instances changed after this time, such as 2026-11-16T09:30:00Z",
      },
      { name: "updated-before", kind: "text", value: "TIME", summary: "only instances changed before this time" },
      { name: "dry-run", kind: "flag", summary: "only count the instances" },
      keyOption,
    ],
    examples: [
      { line: "detent instance bulk order Cancel --state Placed --dry-run", says: "how many instances there are" },
      { line: "detent instance bulk order Cancel --state Placed --yes", says: "sends the event to each of them" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, state, status, search } = input
      const event = { ...(yield* fieldsOf(input.with)), _tag: input.event }
      const updatedAfter = yield* momentOf("updated-after", input["updated-after"])
      const updatedBefore = yield* momentOf("updated-before", input["updated-before"])
      const filter = { machine, ...optional({ state, status, search, updatedAfter, updatedBefore }) }
      const counted = yield* Effect.provide(
        Effect.andThen(instances.checkState(machine, state), bulkSend({ filter, event, dryRun: true })),
        observing(input),
      )
      const number = `${counted.atLeast === true ? "at least " : ""}${counted.count}`
      if (input["dry-run"])
        return yield* output.value(
          { ...counted, dryRun: true },
          () => `${number} would get the event: ${counted.sample.join(", ") || "none"}\n`,
        )
      yield* agreed(`Send ${input.event} to ${number} instances of ${machine}?`)
      const server = yield* runningServer(input)
      const sending = Effect.gen(function* () {
        const started = yield* changed(
          server,
          {
            operation: "instances.bulk",
            params: {},
            path: "/api/v1/instances/bulk",
            json: { filter, event },
            answer: Bulk,
            key: input.key,
          },
          bulkSend({ filter, event }),
        )
        // Without a server, the job runs in this process.
        if (server === undefined && started.job !== undefined) yield* (yield* instances.find(started.job)).instance.awaitFinal
        return started
      })
      const { job, ...sent } = yield* Effect.provide(sending, server === undefined ? actingOnMany(input) : observing(input))
      const name = job === undefined ? "" : `${job.machine}/${job.id}`
      yield* output.value({ ...sent, job }, () => `${name}\n`)
      yield* output.note(`see its progress: detent instance show ${name}${placeText(input)}`)
    }),
)

const fire = command(
  {
    name: "instance fire",
    summary: "fire a timer of an instance now",
    arguments: [instanceArgument, { name: "timer", summary: "the timer's name, as `detent instance show` shows it" }],
    options: [keyOption],
    examples: [{ line: "detent instance fire order-7 'payment overdue'", says: "as if the timer were due" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        const { machine, id, state } = yield* changed(
          server,
          {
            operation: "instances.fireTimer",
            params: { machine: key.machine, id: key.id, name: input.timer },
            path: `${addressOf(key)}/timers/${encodeURIComponent(input.timer)}/fire`,
            answer: Started,
            key: input.key,
          },
          instances.fireTimer(key, input.timer),
        )
        yield* output.value({ machine, id, state }, () => `${JSON.stringify(state)}\n`)
        yield* notedWork(input, server, key)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)

const purge = command(
  {
    name: "instance purge",
    summary: "remove instances that ended long ago, with their histories",
    detail:
      "An instance with an unfinished or failed command stays. Instances of a machine with `.persist({ retention })` are purged automatically.",
    arguments: [machineArgument],
    options: [
      {
        name: "ended-before",
        kind: "text",
        value: "DURATION",
        summary: "only instances that ended at least this long ago, such as 30days or 12hours",
      },
      { name: "dry-run", kind: "flag", summary: "only count the instances" },
      keyOption,
    ],
    examples: [
      { line: "detent instance purge order --ended-before 30days --dry-run", says: "how many instances there are" },
      { line: "detent instance purge order --ended-before 30days --yes", says: "removes them permanently" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, "dry-run": dryRun } = input
      const endedBefore = yield* durationOf(input["ended-before"])
      const report = ({ count }: Purged) =>
        output.value(
          { machine, count, dryRun },
          () => `${counted(count, "instance")} ${dryRun ? "would be" : count === 1 ? "was" : "were"} removed\n`,
        )
      const found = yield* Effect.provide(instances.purge({ machine, endedBefore, dryRun: true }), observing(input))
      if (dryRun || (found.count === 0 && input.key === undefined)) return yield* report(found)
      yield* agreed(
        `Remove ${counted(found.count, "instance")} of ${machine} that ended at least ${input["ended-before"]} ago, with their histories?`,
      )
      const server = yield* runningServer(input)
      const purged = changed(
        server,
        {
          operation: "instances.purge",
          params: { machine },
          path: `/api/v1/machines/${encodeURIComponent(machine)}/purge`,
          json: { endedBeforeMillis: Duration.toMillis(endedBefore) },
          answer: Purged,
          key: input.key,
        },
        instances.purge({ machine, endedBefore, dryRun: false }),
      )
      yield* report(yield* Effect.provide(purged, server === undefined ? acting(input) : observing(input)))
    }),
)

/** The part of the server's answer that is shown. */
const Purged = Schema.Struct({ count: Schema.Int })

type Purged = typeof Purged.Type

const durationOf = (text: string | undefined) => {
  const duration = durationIn(text)
  if (Option.isSome(duration)) return Effect.succeed(duration.value)
  return Effect.fail(
    new WrongUsage({
      problem: text === undefined ? "--ended-before is missing" : `--ended-before ${text} is not a duration`,
      nextStep: "write a whole number and a unit, such as 30days, 12hours or 90minutes",
    }),
  )
}

export const noun = { name: "instance", summary: "durable runs of machines: show, follow, send events, repair" }

export const commands = [list, start, show, history, watch, send, ask, bulk, fire, repair, fork, purge]
