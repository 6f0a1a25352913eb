/** Handlers of the instance API. */
import { Commands, Engine, InstanceNotFound, type InstanceRecord, Journal } from "@detent/durable"
import { finalOutcome } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { pageSize } from "../../api/Paging.ts"
import { commandView } from "../../api/StoredCommand.ts"
import { InstanceReading } from "../InstanceReading.ts"
import { hasEnded, InstanceFeed } from "../live/InstanceFeed.ts"
import { liveResponse } from "../live/liveResponse.ts"
import { InputNeeded, InputTwice } from "../NotThere.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { paged } from "../paged.ts"
import { sentBefore } from "../SentBefore.ts"

type Outcome = "failure" | undefined

const listingOf = ({ machine, id, tag, status, reason, sequence, version, startedAt, updatedAt }: InstanceRecord, outcome: Outcome) => ({
  machine,
  id,
  state: tag,
  status,
  ...optional({ outcome }),
  ...optional({ reason }),
  sequence,
  version,
  startedAt,
  updatedAt,
})

export const instanceHandlers = HttpApiBuilder.group(
  Api,
  "instances",
  Effect.fnUntraced(function* (handlers) {
    const engine = yield* Engine
    const journal = yield* Journal
    const commands = yield* Commands
    const feed = yield* InstanceFeed
    const { machine: machineOf, jsonOf, find, read, view } = yield* InstanceReading

    const outcomeOf = ({ machine, tag }: InstanceRecord): Outcome =>
      Option.getOrUndefined(Option.map(engine.machine(machine), (known) => finalOutcome(known, tag)))

    const opened = (key: { readonly machine: string; readonly id: string }) =>
      Effect.flatMap(journal.open(key), Option.match({ onNone: () => Effect.fail(new InstanceNotFound(key)), onSome: Effect.succeed }))

    return handlers
      .handle("list", ({ query: { state, limit = pageSize, after, ...filter } }) =>
        answering(
          Effect.map(journal.list({ ...filter, ...optional({ tag: state }) }, limit, after), ({ instances, next }) =>
            paged({ instances: instances.map((record) => listingOf(record, outcomeOf(record))) }, next),
          ),
        ),
      )
      .handle("start", ({ params: { machine: name }, payload: { id, input, state } }) =>
        answering(
          Effect.gen(function* () {
            const machine = yield* machineOf(name)
            const json = jsonOf(machine)
            if (input !== undefined && state !== undefined) return yield* new InputTwice({ machine: name, id })
            const given = state ?? (input === undefined ? undefined : { _tag: json.firstState, ...input })
            if (given === undefined && !json.hasFirstState) {
              const example = JSON.stringify({ id, input: json.firstFields })
              return yield* new InputNeeded({ machine: name, first: json.firstState, states: json.stateTags.join(", "), example })
            }
            const first = given === undefined ? undefined : yield* Effect.fromResult(json.readState(id, given))
            yield* engine.start(machine, id, first)
            return yield* view(yield* find({ machine: name, id }))
          }),
        ),
      )
      .handle("get", ({ params }) => answering(read(params)))
      .handle("history", ({ params, query: { after = 0, limit = pageSize } }) =>
        answering(
          Effect.gen(function* () {
            const { instance, json } = yield* find(params)
            const page = yield* instance.historyPage({ after, limit: limit + 1 })
            const entries = page.slice(0, limit).map(({ sequence, at, event, from, state, dedupeId, outcome, through, requests }) => ({
              sequence,
              at,
              event: json.event(event),
              from: from._tag,
              state: json.state(state),
              outcome,
              through: through.map(({ _tag }) => _tag),
              requests,
              ...optional({ dedupeId }),
            }))
            return paged({ entries }, page.length > limit ? entries.at(-1)?.sequence : undefined)
          }),
        ),
      )
      .handle("stateAt", ({ params: { sequence, ...key } }) =>
        answering(
          Effect.gen(function* () {
            const { instance, json } = yield* find(key)
            return { sequence, state: json.state(yield* instance.stateAt(sequence)) }
          }),
        ),
      )
      .handle("legalEvents", ({ params }) =>
        answering(
          Effect.gen(function* () {
            const { instance, json } = yield* find(params)
            const { state, status } = yield* instance.stored
            return { state: state._tag, events: status === "running" ? json.legalEvents(state._tag) : [] }
          }),
        ),
      )
      .handle("send", ({ params, headers, payload }) =>
        answering(
          Effect.gen(function* () {
            const { instance, json } = yield* find(params)
            const event = yield* Effect.fromResult(json.readEvent(params.id, payload))
            const sender = headers["idempotency-key"]
            if (sender !== undefined) yield* Effect.provideService(sentBefore(instance, json, event, sender), Journal, journal)
            const taken = yield* instance.call(event, optional({ id: sender }))
            const answer = json.answer(event._tag, taken.answer)
            return { outcome: taken._tag, state: json.state(taken.state), ...optional({ answer }) }
          }),
        ),
      )
      .handle("commands", ({ params }) =>
        answering(
          Effect.gen(function* () {
            yield* opened(params)
            return { commands: (yield* commands.ofInstance(params)).map(commandView) }
          }),
        ),
      )
      .handle("timers", ({ params }) =>
        answering(Effect.map(opened(params), ({ timers }) => ({ timers: timers.map(({ name, entry, due }) => ({ name, entry, due })) }))),
      )
      .handleRaw("events", ({ params, headers }) =>
        answering(
          Effect.gen(function* () {
            const { record } = yield* opened(params)
            const after = Math.min(record.sequence, Number(headers["last-event-id"] ?? record.sequence))
            // 204 tells an EventSource not to reconnect.
            if (hasEnded(record.status) && after === record.sequence) return HttpServerResponse.empty({ status: 204 })
            return liveResponse(feed.reader(params, after))
          }),
        ),
      )
  }),
)
