/**
 * Instances of other nodes: requests of this node to them, and requests of other nodes to the instances here. Events, states and
 * errors are sent as JSON, encoded by the codec of their machine, so that nodes with another version of the machine decode them
 * with their upcasters.
 */
import { randomBytes } from "node:crypto"
import {
  ActionFailed,
  ActorExists,
  EndlessTransition,
  EventReplayError,
  InstanceExists,
  InstanceNotFound,
  InvalidEvent,
  InvalidState,
  InvalidTransition,
  LockingFailed,
  MachineStopped,
  NewerVersion,
  Overloaded,
  PersistenceFailed,
  ProcessingTimeout,
  type SendError,
  SequenceConflict,
  type Taken,
  TransitionRefused,
} from "@detent/machine"
import { describe, eventProblem, firstState, identified, type Result, type Tagged, TakenDecision } from "@detent/machine/internal"
import type { InstanceKey, JournalService } from "@detent/store"
import type { Json } from "@detent/store/internal"
import { deliveryPrefix, isDeliveryId } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { actorOfText, CurrentActor, storedActor } from "../machine/Actor.ts"
import type { Codec, EventBody } from "../machine/Codec.ts"
import { Envelope } from "../machine/Envelope.ts"
import type { MachineRegistry, RegisteredMachine } from "../machine/MachineRegistry.ts"
import { newInstanceCommit } from "../machine/NewInstance.ts"
import { readEvent } from "../machine/Replay.ts"
import type { Answering, Receiver, RemoteAnswer, RemoteRequest, Routing } from "../nodes/Routing.ts"
import type { InstanceTable, StartError } from "./InstanceTable.ts"
import type { LiveInstance } from "./LiveInstance.ts"
import type { StoreWait } from "./StoreWait.ts"
import { isRemoved, removed } from "./UnconfirmedCommits.ts"

/** A subclass comes before its base class: an error is decoded as the first class that fits. */
const RemoteError = Schema.toCodecJson(
  Schema.Union([
    InvalidTransition,
    TransitionRefused,
    InvalidEvent,
    InvalidState,
    MachineStopped,
    ActionFailed,
    EndlessTransition,
    ProcessingTimeout,
    Overloaded,
    PersistenceFailed,
    SequenceConflict,
    NewerVersion,
    EventReplayError,
    LockingFailed,
    InstanceExists,
    ActorExists,
    InstanceNotFound,
  ]),
)

type RemoteError = typeof RemoteError.Type

const encodeError = Schema.encodeSync(Schema.fromJsonString(RemoteError))
const decodeError = Schema.decodeUnknownSync(Schema.fromJsonString(RemoteError))

/** The parts of the engine that instances of this node need. */
export interface LocalParts {
  readonly journal: JournalService
  readonly registry: MachineRegistry
  readonly table: () => InstanceTable
  readonly storeWait: () => StoreWait
  /** This node may have gained instances that have work to do. */
  readonly gained: () => void
}

type SendRequest = Extract<RemoteRequest, { readonly _tag: "Send" }>

/** The metadata of an event. */
type Origin = Pick<Envelope, "dedupeId"> & Partial<Pick<Envelope, "failure" | "by" | "trace">>

export class RemoteInstances {
  readonly #routing: () => Routing | undefined
  readonly #local: LocalParts
  /** The prefix of the ids of events from this process. No other process ever uses it. Short, because ids are stored with events. */
  readonly #deliveries = `${deliveryPrefix}${randomBytes(12).toString("base64url")}/`
  #sent = 0
  /** How often instances have left this node. */
  #departures = 0

  constructor(routing: () => Routing | undefined, local: LocalParts) {
    this.#routing = routing
    this.#local = local
  }

  /** The routing for requests to an instance. Undefined where the instance is on this node and no earlier request is in flight. */
  routeTo(key: InstanceKey): Routing | undefined {
    const routing = this.#routing()
    return routing === undefined || (routing.isLocal(key) && !routing.isAwaited(key)) ? undefined : routing
  }

  // Requests of this node to others

  /** Sends an event whose decision the caller does not need: a node that cannot read the states of a newer version can send it too. */
  send(
    routing: Routing,
    registered: RegisteredMachine,
    id: string,
    event: Tagged,
    origin: Origin,
  ): Effect.Effect<void, SendError | InstanceNotFound> {
    return Effect.asVoid(this.#request(routing, registered, id, event, origin, true))
  }

  /** Sends an event, and returns the decision. */
  call(
    routing: Routing,
    registered: RegisteredMachine,
    id: string,
    event: Tagged,
    origin: Origin,
  ): Effect.Effect<Taken<Tagged, Tagged>, SendError | InstanceNotFound> {
    return Effect.flatMap(this.#request(routing, registered, id, event, origin, false), (taken) =>
      decisionIn({ machine: registered.name, id }, registered.codec, taken),
    )
  }

  /** Returns the decision as JSON. */
  #request(
    routing: Routing,
    { codec, compiled, name: machine }: RegisteredMachine,
    id: string,
    event: Tagged,
    { dedupeId, failure, by, trace }: Origin,
    silent: boolean,
  ): Effect.Effect<Json | undefined, SendError | InstanceNotFound> {
    return Effect.suspend(() => {
      const key = { machine, id }
      const problem = eventProblem(compiled, event)
      if (problem !== undefined) return Effect.fail(identified(problem, id))
      let body: Json
      try {
        body = codec.encodeEvent({ event, guardAnswers: [], settled: undefined, answer: undefined, failure, by, trace: trace?.context })
      } catch (cause) {
        return Effect.fail(new InvalidEvent({ ...key, event: event._tag, problem: `it cannot be encoded: ${describe(cause)}` }))
      }
      const tooLarge = sizeProblem(body, routing)
      if (tooLarge !== undefined) {
        const [size, limit] = [body.length, routing.requestCharacters]
        return Effect.fail(new InvalidEvent({ ...key, event: event._tag, problem: tooLarge, size, limit }))
      }
      const request: RemoteRequest = {
        _tag: "Send",
        event: body,
        id: dedupeId ?? `${this.#deliveries}${(++this.#sent).toString(36)}`,
        ...(silent ? { silent } : {}),
        ...(dedupeId === undefined ? { first: true } : {}),
      }
      return Effect.flatMap(routing.request(key, request), (answer) =>
        answer._tag === "Refused" ? Effect.fail(sendErrorOf(key, answer.error)) : Effect.succeed(answer.taken),
      )
    })
  }

  /** Forwards an event that arrived here to the node that has the instance, and answers its sender. */
  forward(key: InstanceKey, envelope: Envelope): Effect.Effect<void> {
    const routing = this.#routing()
    const registered = this.#local.registry.get(key.machine)
    if (routing === undefined || registered === undefined) return Effect.sync(() => envelope.complete(removed(key, -1)))
    return Effect.match(this.call(routing, registered, key.id, envelope.event, envelope), {
      onFailure: (error) => envelope.complete(error._tag === "InstanceNotFound" ? removed(key, -1) : error),
      onSuccess: (taken) => envelope.complete(taken),
    })
  }

  /** Starts an instance on the node that has it. */
  start(
    routing: Routing,
    context: Parameters<typeof newInstanceCommit>[0],
    registered: RegisteredMachine,
    id: string,
    input: unknown,
  ): Effect.Effect<Tagged, StartError> {
    return Effect.withFiber((fiber): Effect.Effect<Tagged, StartError> => {
      const key = { machine: registered.name, id }
      const by = storedActor(fiber.getRef(CurrentActor))
      const now = registered.environment.clock.currentTimeMillisUnsafe()
      const at = Math.floor(now)
      const beginning = firstState(registered.compiled, input, at)
      if (beginning._tag === "Refused") return Effect.fail(identified(beginning.error, id))
      const commit = newInstanceCommit(context, registered, id, beginning, at, { by })
      if (commit instanceof InvalidState) return Effect.fail(commit)
      const state = JSON.stringify(registered.codec.firstValue(beginning.through[0] ?? beginning.state))
      const tooLarge = sizeProblem(state, routing)
      if (tooLarge !== undefined) return Effect.fail(new InvalidState({ ...key, state: beginning.state._tag, problem: tooLarge }))
      const request: RemoteRequest = { _tag: "Start", state, version: registered.version, at, ...(by === undefined ? {} : { by }) }
      return Effect.flatMap(routing.request(key, request), (answer) =>
        answer._tag === "Done" ? Effect.succeed(beginning.state) : Effect.fail(startErrorOf(key, answer.error)),
      )
    })
  }

  /** Asks the node that has an instance to open it. */
  wake(key: InstanceKey): Effect.Effect<void> {
    const routing = this.routeTo(key)
    return routing === undefined ? Effect.void : Effect.ignore(routing.request(key, { _tag: "Wake" }))
  }

  // Requests of other nodes to this one

  readonly receiver: Receiver = {
    serves: (machine) => this.#local.registry.get(machine) !== undefined,
    receive: (key, requests, answer) => this.#receive(key, requests, answer),
    gained: () => this.#local.gained(),
    leave: (isLeaving, departure) => {
      this.#departures++
      return this.#local.table().depart(isLeaving, departure)
    },
    remaining: (isLeaving) => this.#local.table().remaining(isLeaving),
  }

  #receive(key: InstanceKey, requests: ReadonlyArray<RemoteRequest>, answer: Answering): Effect.Effect<void> | undefined {
    const taken = this.#takeInMemory(key, requests, answer)
    if (taken === requests.length) return undefined
    const departures = this.#departures
    return Effect.forEach(
      requests.slice(taken),
      (request, index) => {
        const answered = (result: RemoteAnswer) => answer(taken + index, result)
        return Effect.catch(this.#carryOut(key, request, departures, answered), (error) =>
          Effect.sync(() => answered(this.#refusal(error))),
        )
      },
      { discard: true },
    )
  }

  /** Delivers events to an instance in memory, without a fiber. Returns how many: `#carryOut` handles the remaining requests. */
  #takeInMemory(key: InstanceKey, requests: ReadonlyArray<RemoteRequest>, answer: Answering): number {
    const registered = this.#local.registry.get(key.machine)
    if (registered === undefined || !this.#isHere(key)) return 0
    for (const [position, request] of requests.entries()) {
      const live = request._tag === "Send" ? this.#local.table().find(key) : undefined
      if (request._tag !== "Send" || live === undefined) return position
      let body: EventBody
      try {
        body = registered.codec.decodeEvent(request.event)
      } catch {
        // `#carryOut` fails in the same way, and answers with the reason.
        return position
      }
      this.#deliver(live, registered.codec, request, body, (answered) => answer(position, answered))
    }
    return requests.length
  }

  #deliver(
    live: LiveInstance,
    codec: Codec,
    request: SendRequest,
    { event, failure, by, trace }: EventBody,
    answer: (answer: RemoteAnswer) => void,
  ) {
    const { id: dedupeId, silent = false, first = false } = request
    // It was sent just now.
    const cause = trace === undefined ? undefined : { context: trace, at: Number.POSITIVE_INFINITY }
    const envelope = live.deliver(
      new Envelope(event, { dedupeId, failure, by, cause, isRemote: true, isFirst: first && isDeliveryId(dedupeId) }),
    )
    const answered = (result: Result) => answer(this.#answerOf(codec, live.key, result, silent))
    if (envelope.result === undefined) envelope.observer = answered
    else answered(envelope.result)
  }

  /**
   * Ends when the instance has received the event: the answer may take longer, and must not delay the next request. If instances have
   * left this node since the request arrived, the sender may have sent it to another node, which may have refused it.
   */
  #carryOut(
    key: InstanceKey,
    request: RemoteRequest,
    departures: number,
    answer: (answer: RemoteAnswer) => void,
  ): Effect.Effect<void, RemoteError> {
    return Effect.suspend((): Effect.Effect<void, RemoteError> => {
      const registered = this.#local.registry.get(key.machine)
      if (registered === undefined || !this.#isHere(key) || departures !== this.#departures)
        return Effect.sync(() => answer(elsewhere("the instance is not here")))
      switch (request._tag) {
        case "Send":
          return this.#receiveEvent(registered, key, request, departures, answer)
        case "Start":
          return Effect.andThen(
            this.#start(registered, key, request),
            Effect.sync(() => answer({ _tag: "Done" })),
          )
        case "Wake":
          return Effect.andThen(
            Effect.catchTag(this.#local.table().open(key), "InstanceNotFound", () => Effect.void),
            Effect.sync(() => answer({ _tag: "Done" })),
          )
      }
    })
  }

  #isHere(key: InstanceKey): boolean {
    return !this.#local.table().isClosed && this.#routing()?.isLocal(key) === true
  }

  #receiveEvent(
    { codec }: RegisteredMachine,
    key: InstanceKey,
    request: SendRequest,
    departures: number,
    answer: (answer: RemoteAnswer) => void,
  ): Effect.Effect<void, RemoteError> {
    const { event: body, id: dedupeId } = request
    return Effect.flatMap(readEvent(codec, key, { sequence: 0, at: 0, tag: "(received)", body, dedupeId }), (read) =>
      Effect.map(this.#local.storeWait().open(key), (live) => {
        // While it was read, the instance may have moved to another node, which may have refused the event, and moved back.
        if (!this.#isHere(key) || departures !== this.#departures) return answer(elsewhere("the instance is not here"))
        this.#deliver(live, codec, request, read, answer)
      }),
    )
  }

  #answerOf(codec: Codec, key: InstanceKey, result: Result, isSilent: boolean): RemoteAnswer {
    if (isRemoved(result)) return refused(new InstanceNotFound(key))
    if (result instanceof Error) return this.#refusal(result)
    if (isSilent) return { _tag: "Done" }
    try {
      const taken = JSON.stringify(encodeTaken(codec, result))
      const tooLarge = sizeProblem(taken, this.#routing())
      return tooLarge === undefined ? { _tag: "Done", taken } : undelivered(key, new Error(tooLarge))
    } catch (cause) {
      return undelivered(key, cause)
    }
  }

  /** Failures that may not occur on another node, or a moment later, are answered with `Elsewhere`: the sender tries again. */
  #refusal(error: RemoteError): RemoteAnswer {
    const isPassing = error._tag === "LockingFailed" || error instanceof NewerVersion
    return isPassing || this.#local.table().isClosed ? elsewhere(error.message) : refused(error)
  }

  /** A start that is requested again, because its answer was lost, succeeds: it finds the instance that it has started. */
  #start(
    registered: RegisteredMachine,
    key: InstanceKey,
    { state: body, version, at, by }: Extract<RemoteRequest, { _tag: "Start" }>,
  ): Effect.Effect<void, RemoteError> {
    const { codec } = registered
    // The sender tries again, until a node that knows this version has the instance.
    if (version > registered.version) return Effect.fail(newerStart(key, version, registered.version))
    const decoded = Effect.try({
      try: () => codec.decodeState(body, version),
      catch: (cause) => new InvalidState({ ...key, state: "(start)", problem: describe(cause) }),
    })
    return Effect.flatMap(decoded, (state) =>
      Effect.catchTag(Effect.asVoid(startedBy(by, this.#local.table().start(registered, key.id, state, at))), "ActorExists", (exists) =>
        Effect.flatMap(this.#local.storeWait().retry(this.#local.journal.open(key)), (found) =>
          Option.isSome(found) && found.value.record.startedAt === at ? Effect.void : Effect.fail(exists),
        ),
      ),
    )
  }
}

const startedBy = <A, E>(by: string | undefined, start: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  by === undefined ? start : Effect.provideService(start, CurrentActor, actorOfText(by))

const newerStart = (key: InstanceKey, written: number, known: number): NewerVersion => {
  const place = { state: "(start)", event: "(start)", sequence: 0, problem: "another node starts it" }
  return new NewerVersion({ ...key, ...place, written, known })
}

const elsewhere = (reason: string): RemoteAnswer => ({ _tag: "Elsewhere", reason })

const refused = (error: RemoteError): RemoteAnswer => ({ _tag: "Refused", error: encodeError(error) })

/** The answer where the sender cannot get the decision. */
const undelivered = (key: InstanceKey, cause: unknown): RemoteAnswer =>
  refused(new PersistenceFailed({ ...key, operation: "encode the decision, which stands", cause }))

/** Why the JSON cannot be sent to another node; undefined where it can. */
const sizeProblem = (json: Json, routing: Routing | undefined): string | undefined =>
  routing === undefined || json.length <= routing.requestCharacters
    ? undefined
    : `it takes ${json.length} characters as JSON, and nodes of a cluster send each other at most ${routing.requestCharacters}; ` +
      "store large content elsewhere and send a reference"

interface TakenJson {
  readonly from: Json
  readonly version: number
  readonly body: Json
  /** What a node with an older version of the machine can read. */
  readonly event: string
  readonly outcome: "Goto" | "Stay" | "Stop"
  readonly state: string
}

/** Encodes a decision as the journal does an effectful one, with the state before it. */
const encodeTaken = (codec: Codec, taken: Taken<Tagged, Tagged>): TakenJson => {
  const { _tag: outcome, from, state, event, answer, through } = taken
  const reason = taken._tag === "Stop" ? taken.reason : undefined
  const settled = { outcome, moved: outcome === "Goto", state, through, reason, sends: [] }
  return {
    from: codec.encodeState(from),
    version: codec.version,
    body: codec.encodeEvent({ event, guardAnswers: [], settled, answer }),
    event: event._tag,
    outcome,
    state: state._tag,
  }
}

const decisionIn = (
  key: InstanceKey,
  codec: Codec,
  json: Json = "{}",
): Effect.Effect<Taken<Tagged, Tagged>, PersistenceFailed | NewerVersion> =>
  Effect.try({
    try: () => {
      const { from, version, body, ...named } = JSON.parse(json) as TakenJson
      if (version > codec.version) throw newerDecision(key, version, codec.version, named)
      const { event, settled, answer: reply } = codec.decodeEvent(body)
      if (settled === undefined) throw new Error("the answer has no outcome")
      const taken = new TakenDecision(settled.outcome, codec.decodeState(from, version), event, settled.state, reply)
      taken.through = settled.through
      taken.reason = settled.reason
      return taken as Taken<Tagged, Tagged>
    },
    catch: (cause) =>
      cause instanceof NewerVersion
        ? cause
        : new PersistenceFailed({ ...key, operation: "read the answer of the node that has it; the event is stored", cause }),
  })

const newerDecision = (
  key: InstanceKey,
  written: number,
  known: number,
  { event, outcome, state }: Pick<TakenJson, "event" | "outcome" | "state">,
): NewerVersion => {
  const place = { state, event, sequence: 0, problem: "a node with a newer version of the machine has decided it" }
  return new NewerVersion({ ...key, ...place, written, known, decided: { outcome, state } })
}

const sendErrorOf = (key: InstanceKey, json: Json): SendError | InstanceNotFound => {
  const error = errorIn(key, json)
  if (error instanceof InvalidState || error instanceof ActorExists) return unexpected(key, error)
  return error
}

const startErrorOf = (key: InstanceKey, json: Json): StartError => {
  const error = errorIn(key, json)
  return error instanceof InstanceNotFound ? unexpected(key, error) : error
}

const unexpected = (key: InstanceKey, cause: unknown): PersistenceFailed =>
  new PersistenceFailed({ ...key, operation: "read the answer of the node that has it", cause })

const errorIn = (key: InstanceKey, json: Json): RemoteError => {
  try {
    return decodeError(json)
  } catch (cause) {
    return unexpected(key, cause)
  }
}
