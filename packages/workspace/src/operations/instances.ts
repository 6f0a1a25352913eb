/** Operations on instances: show, start, send, fork, repair, purge. Sensitive fields are hidden in every answer. */
import { isDeepStrictEqual } from "node:util"
import {
  type Actor,
  actorText,
  Commands,
  Engine,
  type EventRecord,
  type Instance,
  type InstanceKey,
  InstanceNotFound,
  type InstanceRecord,
  type InstanceStatus,
  Journal,
  listedInstance,
  type OpenedInstance,
  type RepairOptions,
  type TimerRecord,
  Timers,
  type WaitingEvent,
} from "@detent/durable"
import { actorOfText, delayNameOf, type ForkOrigin, forkOriginOf, isOwedTimer, starterOf } from "@detent/durable/internal"
import { type EventReplayError, InvalidEvent, InvalidState, NewerVersion } from "@detent/machine"
import { commandKey, type Tagged } from "@detent/machine/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { actor } from "../CurrentActor.ts"
import { InputNeeded, InputTwice, InstanceAmbiguous, InstanceUnknown, KeyTaken, StateUnknown, TimerNotSet } from "../errors.ts"
import { type MachineEntry, Machines } from "../Machines.ts"
import type { MachineJson, TaggedJson } from "../machine/MachineJson.ts"
import { optional } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"
import { addressProblem } from "./addressable.ts"
import { withParameters } from "./commands.ts"
import { type FoundInstance, find, findEntry, findMachine, workflowPrefix } from "./find.ts"
import { type Cause, type HistoryPage, history, journaled } from "./instanceHistory.ts"
import { listingOf, outcomeOf } from "./instanceList.ts"

export { type FoundInstance, find, findMachine } from "./find.ts"
export { type Cause, type HistoryPage, history } from "./instanceHistory.ts"
export { type InstanceConditions, type InstanceQuery, type ListedStatus, list } from "./instanceList.ts"
export { label } from "./instanceSearch.ts"

/** The maximum size of a page. */
const longestPage = 1000

const opened = (key: InstanceKey) =>
  Effect.flatMap(
    Effect.flatMap(Journal, (journal) => journal.open(key)),
    Option.match({ onNone: () => Effect.fail(new InstanceNotFound(key)), onSome: Effect.succeed }),
  )

/**
 * The instance or execution that a user names: `order/order-7`, or `order-7` where only one machine has that id. The journal is
 * searched, so instances of machines without a definition here are found too.
 */
export const resolve = (text: string) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const known = new Set([...(yield* (yield* Machines).list).map(({ name }) => name), ...(yield* journal.machines)])
    const slashes = [...text.matchAll(/\//g)].map(({ index }) => index)
    const named = slashes.map((index) => ({ machine: text.slice(0, index), id: text.slice(index + 1) }))
    const bare = [...known].map((machine) => ({ machine, id: text }))
    const candidates = [...named, ...bare].filter(({ machine, id }) => machine !== "" && id !== "")
    const standings = yield* journal.standings(candidates)
    const found = candidates.filter((_, index) => standings[index] !== undefined)
    const [first, ...others] = found
    if (first === undefined) return yield* new InstanceUnknown({ instance: text })
    if (others.length > 0)
      return yield* new InstanceAmbiguous({ instance: text, found: found.map(({ machine, id }) => `${machine}/${id}`) })
    return first satisfies InstanceKey
  })

/** Refuses an unknown state, so that a misspelt name does not give an empty list. */
export const checkState = (name: string, state: string | undefined) =>
  Effect.gen(function* () {
    // The states of a machine without a definition here are unknown.
    const entry = yield* Effect.catchTag(findEntry(name), "MachineUnregistered", () => Effect.succeed(undefined))
    if (state === undefined || entry === undefined || entry._tag === "EffectWorkflow") return
    const { stateTags } = (yield* Machines).json(entry.machine)
    if (!stateTags.includes(state)) return yield* new StateUnknown({ machine: name, state, states: stateTags })
  })

/**
 * Reads the store, so the view includes commits of other processes. For an instance that does not replay, returns the journal's record
 * with the reason.
 */
export const get = (key: InstanceKey) =>
  Effect.gen(function* () {
    const found = yield* find(key)
    const view = yield* Effect.catchIf(viewOf(found), isMisfit, (error) => heldView(found.json, key, error))
    const { origin } = yield* opened(key)
    return { ...view, ...optional({ forkedFrom: forkOriginOf(origin), startedBy: starterIn(origin) }) } satisfies InstanceView
  })

const starterIn = (origin: string | undefined): Actor | undefined => {
  const by = starterOf(origin)
  return by === undefined ? undefined : actorOfText(by)
}

/** Whether the definition cannot replay an event. Excludes events of a newer version, which a process with that version may replay. */
const isMisfit = (error: { readonly _tag: string }): error is EventReplayError =>
  error._tag === "EventReplayError" && !(error instanceof NewerVersion)

/** Why an instance is held. */
export interface Held {
  /** The number of the event that does not replay; 0: the first state of the instance. */
  readonly sequence: number
  /** The event as it is stored; null where the snapshot does not replay. */
  readonly stored: Schema.Json
  readonly problem: string
}

export interface InstanceView {
  readonly machine: string
  readonly id: string
  readonly state: TaggedJson
  readonly status: InstanceStatus
  readonly outcome?: "failure"
  readonly reason?: string
  readonly sequence: number
  readonly startedAt: number
  readonly updatedAt: number
  /** Its pending delayed events, if any. */
  readonly delays?: ReadonlyArray<ReturnType<typeof delayView>>
  readonly held?: Held
  /** What it was forked from. Absent where it was started, and where the journal no longer has its first state. */
  readonly forkedFrom?: ForkOrigin
  /** Who started it, where the program itself did not. */
  readonly startedBy?: Actor
}

const viewOf = ({ instance, json }: FoundInstance) =>
  Effect.map(
    instance.stored,
    ({ state, status, reason, sequence, startedAt, lastTransitionAt, delayed }): InstanceView => ({
      machine: instance.machine,
      id: instance.id,
      state: json.state(state),
      status,
      ...optional({ outcome: json.outcome(state._tag), reason }),
      sequence,
      startedAt,
      updatedAt: lastTransitionAt,
      ...(delayed === undefined ? {} : { delays: delayed.map((one) => delayView(json, one)) }),
    }),
  )

const heldView = (json: MachineJson, key: InstanceKey, { sequence: at, problem, state }: EventReplayError) =>
  Effect.gen(function* () {
    const found = yield* opened(key)
    const { tag, reason, sequence, startedAt, updatedAt } = found.record
    const stored = state === "(snapshot)" ? null : yield* storedAt(json, found, at)
    const view: InstanceView = {
      ...key,
      state: { _tag: tag },
      status: "held",
      ...optional({ reason }),
      sequence,
      startedAt,
      updatedAt,
      held: { sequence: at, stored, problem },
    }
    return view
  })

const storedJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** The event of a sequence number as it is stored, or the first state of the instance. */
const storedAt = (json: MachineJson, { record: of, origin }: OpenedInstance, sequence: number) =>
  Effect.gen(function* () {
    if (sequence === 0) return json.storedState(Option.getOrNull(storedJson(origin)))
    const [event] = yield* Effect.flatMap(Journal, (journal) => journal.events(of, sequence - 1, 1))
    if (event === undefined) return null
    return json.storedEvent(
      Option.getOrElse(
        Option.map(bodyJson(event.body), ({ e }) => e),
        () => null,
      ),
    )
  })

/** A pending delayed event. */
const delayView = (json: MachineJson, { name, due, event }: WaitingEvent<Tagged>) => ({ name, due, event: json.event(event) })

/** Timeouts and delayed events, without the row of self-sent events that are not handled yet: it fires nothing. */
const firingOf = (timers: ReadonlyArray<TimerRecord>) => timers.filter((timer) => !isOwedTimer(timer))

/** The timers of an instance: the timeouts of its state, and its delayed events. Includes the events where the machine is registered. */
const waitingOf = (timers: ReadonlyArray<TimerRecord>, delayed: ReadonlyArray<ReturnType<typeof delayView>> = []) => {
  const delays = timers.flatMap((timer) => {
    const name = delayNameOf(timer)
    return name === undefined ? [] : [delayed.find((one) => one.name === name) ?? { name, due: timer.due }]
  })
  return {
    timers: timers.filter((timer) => delayNameOf(timer) === undefined).map(({ name, due }) => ({ name, due })),
    ...(delays.length === 0 ? {} : { delays }),
  }
}

const noDelays: ReadonlyArray<WaitingEvent<Tagged>> = []

/** The part of an instance's view that needs its machine. */
interface Standing {
  readonly state?: TaggedJson
  /** The sequence number of the shown state, where that is not the latest. */
  readonly at?: number
  readonly accepts?: ReadonlyArray<string>
  /** The stored event that the current definition cannot replay; 0: the first state. */
  readonly misfit?: { readonly sequence: number; readonly problem: string }
  /** False where this process has no definition of the machine. */
  readonly registered?: false
  /** Its pending delayed events. */
  readonly delays?: ReadonlyArray<ReturnType<typeof delayView>>
}

/**
 * The full view of an instance or an execution. For an execution, an instance without a definition here, and an instance that does not
 * replay, only the journal's record is shown.
 */
export const describe = (key: InstanceKey, at?: number) =>
  Effect.gen(function* () {
    const { record, timers, origin } = yield* opened(key)
    const { delays, ...shown } = yield* standing(record, at)
    const listed = listingOf(listedInstance(record), outcomeOf(yield* Engine, record))
    const forked = optional({ forkedFrom: forkOriginOf(origin), startedBy: starterIn(origin) })
    const view = { ...listed, tag: record.tag, ...shown, ...forked, ...waitingOf(firingOf(timers), delays) }
    return shown.at === undefined || shown.at >= record.sequence ? view : { ...view, ...(yield* asOf(record, shown.at)) }
  })

const entryOf = (name: string): Effect.Effect<MachineEntry | undefined, never, Machines> =>
  Effect.flatMap(Machines, (machines) => Effect.map(machines.find(name), Option.getOrUndefined))

/** Whether this process has a definition that can replay the instance. Always true for executions, where it cannot be determined. */
export const isRegistered = ({ machine }: InstanceKey) =>
  Effect.map(entryOf(machine), (entry) => entry !== undefined || machine.startsWith(workflowPrefix))

const standing = (record: InstanceRecord, at: number | undefined) =>
  Effect.gen(function* () {
    const entry = yield* entryOf(record.machine)
    if (!(yield* isRegistered(record))) return { registered: false } satisfies Standing
    if (entry?._tag !== "Machine") return {} satisfies Standing
    const { instance, json } = yield* find(record)
    if (at !== undefined) return { state: json.state(yield* instance.stateAt(at)), at } satisfies Standing
    const read = yield* Effect.result(
      record.status === "held"
        ? Effect.map(instance.stateAt(record.sequence), (state) => ({ state, waiting: noDelays }))
        : Effect.map(instance.snapshot, ({ state, delayed = noDelays }) => ({ state, waiting: delayed })),
    )
    if (Result.isFailure(read)) {
      const { failure } = read
      if (failure._tag !== "EventReplayError" || failure instanceof NewerVersion) return yield* Effect.fail(failure)
      return { misfit: { sequence: failure.sequence, problem: failure.problem } } satisfies Standing
    }
    const { state, waiting } = read.success
    return {
      state: json.state(state),
      accepts: acceptedIn(json, record.status, state._tag),
      delays: waiting.map((one) => delayView(json, one)),
    } satisfies Standing
  }).pipe(Effect.map((one): Standing => one))

/** The view at an earlier event. The instance took further events, so it was running; its timers at that time are not stored. */
const asOf = (record: InstanceRecord, sequence: number) =>
  Effect.gen(function* () {
    const [event] = yield* Effect.flatMap(Journal, (journal) => journal.events(record, sequence - 1, 1))
    const updatedAt = sequence === 0 ? record.startedAt : event?.at
    return { status: "running" as const, reason: undefined, updatedAt, timers: [], delays: undefined }
  })

/** The events that an instance in this state accepts, by name. */
const acceptedIn = (json: MachineJson, status: InstanceStatus, state: string): ReadonlyArray<string> =>
  status === "running" ? json.legalEvents(state).map(({ event }) => event) : []

/** One row of a history. For an execution, only the names of its events are known. */
export interface HistoryRow {
  readonly sequence: number
  readonly at: number
  readonly event: { readonly _tag: string }
  readonly from?: string
  readonly state?: { readonly _tag: string }
  readonly outcome?: "Goto" | "Stay" | "Stop"
  readonly through?: ReadonlyArray<string>
  readonly requests?: ReadonlyArray<string>
  readonly cause?: Cause
  readonly actor?: Actor
  readonly dedupeId?: string
  readonly delays?: ReadonlyArray<{ readonly name: string; readonly due?: number; readonly event?: { readonly _tag: string } }>
}

interface HistoryRows {
  readonly entries: ReadonlyArray<HistoryRow>
  readonly next?: number
  readonly scanned?: number
}

/** A page of the history of an instance or an execution. */
export const events = (key: InstanceKey, page: HistoryPage = {}) =>
  Effect.gen(function* () {
    if ((yield* entryOf(key.machine))?._tag === "Machine") return (yield* history(key, page)) satisfies HistoryRows
    yield* opened(key)
    const { records, ...end } = yield* journaled(key, page)
    return { entries: records.map(({ sequence, at, tag }) => ({ sequence, at, event: { _tag: tag } })), ...end } satisfies HistoryRows
  }).pipe(Effect.map((rows): HistoryRows => rows))

/** Whether the instance or execution takes no more events. A held instance takes events again after a repair. */
export const hasEnded = (status: InstanceStatus): boolean => status === "final" || status === "stopped"

export interface WatchOptions {
  /** Events after this number. Default: only new ones. */
  readonly after?: number | undefined
  /** How often to look for events of other processes. Default: 200 milliseconds. */
  readonly interval?: Duration.Input
}

/** The events of an instance or execution, then each new event, also from other processes. The stream ends when the instance does. */
export const watch = (key: InstanceKey, { after, interval = "200 millis" }: WatchOptions = {}) =>
  Stream.unwrap(
    Effect.map(record(key), ({ sequence }) =>
      Stream.paginate(Math.min(after ?? sequence, sequence), (from) => eventsAfter(key, from, interval)),
    ),
  )

/** A page of events, and the cursor of the next page: none once the instance has ended. */
const eventsAfter = (key: InstanceKey, after: number, interval: Duration.Input) =>
  Effect.gen(function* () {
    const { sequence, status } = yield* record(key)
    const entries = sequence > after ? (yield* events(key, { after, limit: longestPage })).entries : []
    // A pruned journal may have no events here: the cursor then skips to the latest number.
    const last = entries.at(-1)?.sequence ?? Math.max(after, sequence)
    const isOver = hasEnded(status) && last >= sequence
    if (!isOver && entries.length === 0) yield* Effect.sleep(interval)
    return [entries, isOver ? Option.none<number>() : Option.some(last)] as const
  })

export const stateAt = (key: InstanceKey, sequence: number) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    return { sequence, state: json.state(yield* instance.stateAt(sequence)) }
  })

/** The events that the current state, or the state after event `at`, has a transition for. A guard may still refuse an event. */
export const legalEvents = (key: InstanceKey, at?: number) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    if (at !== undefined) {
      const past = yield* instance.stateAt(at)
      return { state: past._tag, events: json.legalEvents(past._tag) }
    }
    const { state, status } = yield* instance.stored
    return { state: state._tag, events: status === "running" ? json.legalEvents(state._tag) : [] }
  })

export interface StartRequest {
  readonly machine: string
  readonly id: string
  /** The fields of the machine's first state. */
  readonly input?: Readonly<Record<string, Schema.Json>> | undefined
  /** A whole state to begin in; not together with `input`. */
  readonly state?: { readonly _tag: string } | undefined
}

export const start = ({ machine: name, id, input, state }: StartRequest) =>
  Effect.gen(function* () {
    const { machine, json } = yield* findMachine(name)
    yield* checkAddress(name, id)
    if (input !== undefined && state !== undefined) return yield* new InputTwice({ machine: name, id })
    const given = state ?? (input === undefined ? undefined : { _tag: json.firstState, ...input })
    if (given === undefined && !json.hasFirstState) {
      const { firstState: first, firstFields: fields, stateTags } = json
      return yield* new InputNeeded({ machine: name, id, first, states: stateTags.join(", "), fields })
    }
    const first = given === undefined ? undefined : yield* Effect.fromResult(json.readState(id, given))
    const key = { machine: name, id }
    const isOurs = Effect.gen(function* () {
      const { instance } = yield* find(key)
      return first === undefined || isDeepStrictEqual(yield* instance.stateAt(0), first)
    })
    yield* unlessDone(
      Effect.flatMap(Engine, (engine) => engine.start(machine, id, first)),
      isOurs,
    )
    return yield* Effect.catchIf(
      get(key),
      (error) => error instanceof NewerVersion,
      () => recordView(key),
    )
  })

/** The view of an instance that a newer version of its machine has written: the name of its state, and no fields. */
const recordView = (key: InstanceKey) =>
  Effect.map(opened(key), ({ record: { tag, status, reason, sequence, startedAt, updatedAt } }): InstanceView => {
    return { ...key, state: { _tag: tag }, status, ...optional({ reason }), sequence, startedAt, updatedAt }
  })

const checkAddress = (machine: string, id: string) => {
  const problem = addressProblem(id)
  return problem === undefined ? Effect.void : Effect.fail(new InvalidState({ machine, state: "(start)", problem }))
}

/** Accepts an existing instance where an earlier attempt at the same request with an unknown outcome has started it. */
const unlessDone = <E extends { readonly _tag: string }, R, E2, R2>(
  making: Effect.Effect<unknown, E, R>,
  isOurs: Effect.Effect<boolean, E2, R2>,
): Effect.Effect<void, E | E2, R | R2> =>
  Effect.asVoid(making).pipe(
    Effect.catch((error) =>
      Effect.gen(function* () {
        if (error._tag !== "ActorExists" || !(yield* CurrentAttempt).isRepeated) return yield* Effect.fail(error)
        if (!(yield* isOurs)) return yield* Effect.fail(error)
      }),
    ),
  )

/**
 * Sends an event. With a key, a repeated event returns the first result; another event with that key is refused, also when both are
 * sent concurrently: the journal stores one event per key, and the send compares it with its own event afterwards.
 */
export const send = (key: InstanceKey, event: { readonly _tag: string }, idempotencyKey?: string) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    const decoded = yield* Effect.fromResult(json.readEvent(key.id, event))
    const calling = instance.call(decoded, optional({ id: idempotencyKey })).pipe(
      Effect.map((taken) => sentOf(json, decoded, taken)),
      Effect.catchIf(isDecidedByNewer, (error) =>
        // The answer to a question needs the newer version.
        error.decided === undefined || json.isQuestion(decoded._tag)
          ? Effect.fail(error)
          : Effect.succeed<Sent>({ outcome: error.decided.outcome, state: { _tag: error.decided.state } }),
      ),
    )
    if (idempotencyKey === undefined) return yield* calling
    // The engine refuses an event of another name with a used key as invalid.
    const taken = yield* Effect.catchIf(
      calling,
      (error) => error instanceof InvalidEvent,
      (invalid) => Effect.andThen(refuseTaken(instance, json, decoded, idempotencyKey), Effect.fail(invalid)),
    )
    return { ...taken, ...optional({ sequence: yield* refuseTaken(instance, json, decoded, idempotencyKey) }) }
  }).pipe(Effect.map((sent): Sent => sent))

/** Whether a node of the cluster with a newer version of the machine has accepted the event: its state cannot be read here. */
const isDecidedByNewer = (error: unknown): error is NewerVersion => error instanceof NewerVersion && error.decided !== undefined

interface Taken {
  readonly _tag: "Goto" | "Stay" | "Stop"
  readonly state: Tagged
  readonly answer?: unknown
}

export interface Sent {
  readonly outcome: "Goto" | "Stay" | "Stop"
  readonly state: TaggedJson
  readonly answer?: Schema.Json
  /** The number of the event in the journal. Only for an event with a key. */
  readonly sequence?: number
}

const sentOf = (json: MachineJson, event: Tagged, taken: Taken): Sent => {
  const answer = json.answer(event._tag, taken.answer)
  return { outcome: taken._tag, state: json.state(taken.state), ...optional({ answer }) }
}

export interface Preview extends Sent {
  readonly dryRun: true
  readonly from: string
  /** States that automatic transitions would pass through. */
  readonly through: ReadonlyArray<string>
  /** The effect slots that would be requested. */
  readonly requests: ReadonlyArray<string>
  /** Timers that would be set. Without `millis`, the timer would be cancelled. */
  readonly timers: ReadonlyArray<{ readonly name: string; readonly millis?: number }>
  /** Events that the machine would send to itself. */
  readonly raises: ReadonlyArray<string>
  /** The event would be postponed until the next change of state. */
  readonly postponed?: true
}

/** Decides an event as if it were sent, guards included. Nothing is stored or executed. */
export const preview = (key: InstanceKey, event: { readonly _tag: string }) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    const decoded = yield* Effect.fromResult(json.readEvent(key.id, event))
    const decision = yield* instance.preview(decoded)
    const from = decision.from._tag
    if (decision._tag === "Postponed") {
      const nothing = { through: [], requests: [], timers: [], raises: [] }
      return { dryRun: true, outcome: "Stay", from, state: json.state(decision.from), ...nothing, postponed: true } satisfies Preview
    }
    return {
      dryRun: true,
      ...sentOf(json, decoded, decision),
      from,
      through: decision.through.map(({ _tag }) => _tag),
      requests: decision.requests.map(({ slot }) => slot),
      timers: decision.timers.map(({ name, millis }) => (Number.isFinite(millis) ? { name, millis } : { name })),
      raises: decision.sends.map(({ _tag }) => _tag),
    } satisfies Preview
  }).pipe(Effect.map((found): Preview => found))

/** Fails if the journal has another event with the key; otherwise returns the number of the stored event. */
const refuseTaken = (instance: Instance<Tagged, Tagged>, json: MachineJson, event: Tagged, key: string) =>
  Effect.gen(function* () {
    const { machine, id } = instance
    const found = yield* Effect.flatMap(Journal, (journal) => journal.findDuplicate({ machine, id }, key))
    if (Option.isNone(found)) return undefined
    const { sequence, tag } = found.value
    const taken = { machine, id, key, sequence, event: tag }
    if (tag !== event._tag) return yield* new KeyTaken({ ...taken, difference: "event" })
    if (!(yield* isSameEvent(instance, json, event, found.value))) return yield* new KeyTaken({ ...taken, difference: "fields" })
    return sequence
  })

/** The part of a journaled body that holds the event as it was sent. */
const bodyJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ e: Schema.Json })))

/** Compares all fields, sensitive ones too. An event that an older version of the machine wrote is compared after its upcast. */
const isSameEvent = (instance: Instance<Tagged, Tagged>, json: MachineJson, event: Tagged, stored: EventRecord) => {
  const sent = json.encodeEvent(event)
  const body = bodyJson(stored.body)
  if (Option.isSome(body) && isDeepStrictEqual(body.value.e, sent)) return Effect.succeed(true)
  return Effect.map(instance.historyPage({ after: stored.sequence - 1, limit: 1 }), ([entry]) =>
    entry === undefined || entry.sequence !== stored.sequence ? false : isDeepStrictEqual(json.encodeEvent(entry.event), sent),
  )
}

/**
 * Replaces the journaled event that an instance cannot replay, if the instance then replays. A dry run only checks that. A sensitive
 * value that the caller leaves hidden keeps its stored content.
 */
export const repair = (key: InstanceKey, sequence: number, event: TaggedJson, options: Pick<RepairOptions, "dryRun" | "reason"> = {}) =>
  Effect.gen(function* () {
    const { before, isRepeated } = yield* CurrentAttempt
    const by = actorText(yield* actor)
    const { machine, json } = yield* find(key)
    const stored = Option.getOrNull(yield* storedEventAt(key, sequence))
    const whole = yield* Effect.fromResult(json.withStoredSecrets(key.id, event, stored))
    const decoded = yield* Effect.fromResult(json.readEvent(key.id, whole))
    const replaced = isStored(key, sequence, json.encodeEvent(decoded))
    const wasThere = yield* before(replaced)
    // An earlier attempt at the request has repaired the instance.
    if (isRepeated && !wasThere && (yield* replaced)) return yield* get(key)
    // The machine's own schema has decoded the event; the type of a machine found by name cannot express that.
    yield* Effect.flatMap(Engine, (engine) => engine.repair(machine, key.id, sequence, decoded as never, { ...options, by }))
    return yield* get(key)
  })

/** Whether the journal has this event at this number. */
const isStored = (key: InstanceKey, sequence: number, event: unknown) =>
  Effect.map(storedEventAt(key, sequence), (stored) => Option.isSome(stored) && isDeepStrictEqual(stored.value, event))

/** The event that the journal has at this number, with all fields. */
const storedEventAt = (key: InstanceKey, sequence: number) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.events(key, sequence - 1, 1)),
    ([stored]) => (stored?.sequence === sequence ? Option.map(bodyJson(stored.body), ({ e }) => e) : Option.none<Schema.Json>()),
  )

/**
 * Creates an instance with the journal of another up to a sequence number, or with all of it. Commands that the original requested are
 * not executed again.
 */
export const fork = (key: InstanceKey, sequence: number | undefined, newId: string) =>
  Effect.gen(function* () {
    const { machine } = yield* find(key)
    const by = actorText(yield* actor)
    yield* checkAddress(key.machine, newId)
    const { before } = yield* CurrentAttempt
    const through = sequence ?? (yield* before(Effect.map(record(key), (one) => one.sequence)))
    const made = { machine: key.machine, id: newId }
    const isOurs = Effect.gen(function* () {
      const [from, to] = [yield* find(key), yield* find(made)]
      if ((yield* record(made)).sequence < through) return false
      return isDeepStrictEqual(yield* from.instance.stateAt(through), yield* to.instance.stateAt(through))
    })
    yield* unlessDone(
      Effect.flatMap(Engine, (engine) => engine.fork(machine, key.id, through, newId, { by })),
      isOurs,
    )
    return yield* get(made)
  })

export interface PurgeRequest {
  readonly machine: string
  /** Purges instances that ended at least this long ago. */
  readonly endedBefore: Duration.Input
  /** Only counts the instances. */
  readonly dryRun: boolean
}

/**
 * Removes instances of a machine that ended long ago, with their journals. An instance with an unfinished or failed command stays. A
 * repeated request removes the instances of its first attempt, and returns their number.
 */
export const purge = ({ machine: name, endedBefore, dryRun }: PurgeRequest) =>
  Effect.gen(function* () {
    const { machine } = yield* findMachine(name)
    const { before, eventId, isRepeated } = yield* CurrentAttempt
    const engine = yield* Engine
    const purging = (ended: Duration.Input, isDry: boolean) => engine.purge(machine, { endedBefore: ended, dryRun: isDry })
    if (dryRun || eventId === undefined) return { machine: name, count: yield* purging(endedBefore, dryRun), dryRun }
    const { clock } = yield* Journal
    const first = yield* before(
      Effect.gen(function* () {
        return { count: yield* purging(endedBefore, true), at: yield* clock }
      }),
    )
    const elapsed = isRepeated ? Math.max(0, (yield* clock) - first.at) : 0
    const count = yield* purging(Duration.sum(Duration.fromInputUnsafe(endedBefore), Duration.millis(elapsed)), false)
    return { machine: name, count: isRepeated ? first.count : count, dryRun }
  })

/** Selects commands of an instance. */
export interface InstanceCommandQuery {
  /** Only commands that the event of this number requested. */
  readonly sequence?: number | undefined
  /** Only commands before the command of this number. */
  readonly before?: number | undefined
  /** At most this many, the latest. Default: 100. */
  readonly limit?: number | undefined
}

/** The commands that an instance requested, oldest first. `next` is the `before` of the page with earlier commands. */
export const commands = (key: InstanceKey, { sequence, before, limit = 100 }: InstanceCommandQuery = {}) =>
  Effect.gen(function* () {
    yield* opened(key)
    const most = Math.min(1000, Math.max(1, limit))
    // The key of a command begins with its instance and event.
    const keyPrefix = sequence === undefined ? undefined : commandKey(key.machine, key.id, sequence, 0).slice(0, -1)
    const found = yield* Effect.flatMap(Commands, (stored) => stored.ofInstance(key, { limit: most + 1, before, keyPrefix }))
    const page = found.slice(-most)
    return { commands: yield* withParameters(page), ...optional({ next: found.length > most ? page[0]?.number : undefined }) }
  })

/** The timeouts of its state, and its delayed events. Includes the events where the machine is registered. */
export const timers = (key: InstanceKey) =>
  Effect.gen(function* () {
    const { record, timers: found } = yield* opened(key)
    const { delays = [] } = yield* standing(record, undefined)
    return {
      timers: firingOf(found).map((timer) => {
        const { name, entry, due } = timer
        const delayed = delayNameOf(timer)
        if (delayed === undefined) return { name, entry, due }
        return { name: delayed, entry, due, ...optional({ event: delays.find((one) => one.name === delayed)?.event }) }
      }),
    }
  })

/** Fires a timer of an instance now. Where another node owns the instance, that node fires it within its sweep interval. */
export const fireTimer = (key: InstanceKey, name: string) =>
  Effect.gen(function* () {
    const { before, isRepeated } = yield* CurrentAttempt
    yield* find(key)
    const current = Effect.map(opened(key), ({ timers: all }) => firingOf(all).find((one) => (delayNameOf(one) ?? one.name) === name))
    const first = yield* before(
      Effect.map(current, (timer) => (timer === undefined ? null : { name: timer.name, entry: timer.entry, due: timer.due })),
    )
    if (first === null) {
      const known = firingOf((yield* opened(key)).timers).map((one) => delayNameOf(one) ?? one.name)
      return yield* new TimerNotSet({ ...key, name, known })
    }
    const isSet = yield* Effect.flatMap(Timers, (store) => store.fireNow({ ...key, ...first }))
    // A repeated request finds that the timer has fired.
    if (!isSet && !isRepeated) return yield* new TimerNotSet({ ...key, name, known: [] })
    if (isSet) yield* Effect.flatMap(Engine, (engine) => engine.sweep)
    return yield* get(key)
  })

/** The state of an instance after a send, with the events that it accepts. */
export const standingAfter = (key: InstanceKey) =>
  Effect.gen(function* () {
    const { instance, json } = yield* find(key)
    const { state, sequence, status } = yield* instance.snapshot
    return { ...key, state: json.state(state), sequence, status, accepts: acceptedIn(json, status, state._tag) }
  })

/** The journal's record of an instance, with its latest sequence number. */
export const record = (key: InstanceKey) => Effect.map(opened(key), (found) => found.record)
