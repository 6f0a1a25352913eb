/** Starts what a schedule starts, says whether it still runs, and ends it. Every start can be repeated: it is made under an id. */

import type { PersistenceFailed } from "@detent/machine"
import { describe, schemaProblem } from "@detent/machine/internal"
import { Commands, Journal } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as DeadLetters from "../DeadLetters.ts"
import { Engine, type KnownMachine } from "../Engine.ts"
import type { StartError } from "../live/InstanceTable.ts"
import type { EnqueueError } from "../outbox/CommandQueue.ts"
import { machineOf } from "../workflow/ExecutionState.ts"
import type { Calendars } from "./Calendar.ts"
import { instantText, type Schedule, type ScheduledTime, type ScheduleTarget, timingOf } from "./Schedule.ts"
import { type RunTarget, type StartOutcome, type StartParameters, StartRefused } from "./ScheduleMachine.ts"
import type { StartRequest } from "./StartRequest.ts"

/** What the code of this process declares. */
export interface Declared {
  readonly schedules: ReadonlyMap<string, Schedule>
  readonly targets: ReadonlyMap<string, ScheduleTarget>
  /** Absent where no workflow is registered. */
  readonly workflows: WorkflowEngine["Service"] | undefined
}

/** Not declared here: a process of another version may declare it, so the start is tried again. */
class NotDeclared extends Schema.TaggedError<NotDeclared>()("NotDeclared", { what: Schema.String, nextStep: Schema.String }) {
  override get message() {
    return `${this.what} is not declared in this process; ${this.nextStep}`
  }
}

type Services = Engine | Journal | Commands

/** How far a run has come. */
export type RunStatus =
  | { readonly _tag: "Running"; readonly text: string }
  | { readonly _tag: "Ended"; readonly text: string }
  | { readonly _tag: "Unknown" }

/** The status of what a run has started. */
export const statusOf = ({ kind, name, id }: RunTarget): Effect.Effect<RunStatus, PersistenceFailed, Journal | Commands> =>
  Effect.gen(function* () {
    if (kind === "command") {
      const command = yield* (yield* Commands).get(id, name)
      if (Option.isNone(command)) return { _tag: "Unknown" }
      const { status } = command.value
      return { _tag: status === "pending" || status === "processing" ? "Running" : "Ended", text: status }
    }
    const machine = kind === "execution" ? machineOf(name) : name
    const opened = yield* (yield* Journal).open({ machine, id })
    if (Option.isNone(opened)) return { _tag: "Unknown" }
    const { status, tag } = opened.value.record
    return { _tag: status === "running" || status === "held" ? "Running" : "Ended", text: status === "held" ? `${tag}, held` : tag }
  })

/** The handler of a start: it runs at least once for each nominal time. */
export const makeStarter =
  (declared: Declared, calendars: Calendars) =>
  (parameters: StartParameters): Effect.Effect<StartOutcome, StartRefused, Services> =>
    Effect.gen(function* () {
      const { name, at, definition, previous } = parameters
      const time = timeOf(name, at, (instant) =>
        Result.match(calendars.of(timingOf(definition)), {
          onSuccess: (calendar) => calendar.day(instant),
          onFailure: () => instantText(instant).slice(0, 10),
        }),
      )
      const refuse = (problem: string) => new StartRefused({ schedule: name, at: time.at, problem })
      const request = yield* requestOf(declared, parameters, time, refuse)
      const target = targetOf(request, time)
      const own = yield* statusOf(target)
      const isOwn = (one: RunTarget) => one.kind === target.kind && one.name === target.name && one.id === target.id
      // Started by an attempt before this one.
      if (own._tag !== "Unknown" && (previous === undefined || !isOwn(previous))) return { _tag: "Started" as const, target }
      if (previous !== undefined && definition.overlap !== "allow") {
        const before = isOwn(previous) ? own : yield* statusOf(previous)
        if (before._tag === "Running") {
          if (definition.overlap === "cancelPrevious") yield* cancel(declared, previous, request, refuse)
          return { _tag: "Busy" as const, problem: `${previous.kind} ${previous.name}/${previous.id} is still ${before.text}` }
        }
      }
      yield* carryOutStart(declared.workflows, request, time.id, refuse)
      return { _tag: "Started" as const, target }
    }).pipe(
      // Anything but a refusal is worth another attempt.
      Effect.catchIf(
        (error) => !(error instanceof StartRefused),
        (error) => Effect.die(error),
      ),
    ) as Effect.Effect<StartOutcome, StartRefused, Services>

export const timeOf = (name: string, millis: number, dayOf: (millis: number) => string): ScheduledTime => {
  const at = instantText(millis)
  return { at, millis, day: dayOf(millis), id: `${name}@${at}` }
}

type Refuse = (problem: string) => StartRefused

/** Calls the code that describes the start. */
const requestOf = (
  { schedules, targets }: Declared,
  { name, definition: { target } }: StartParameters,
  time: ScheduledTime,
  refuse: Refuse,
) =>
  Effect.suspend((): Effect.Effect<StartRequest, NotDeclared | StartRefused> => {
    try {
      if (target === undefined) {
        const schedule = schedules.get(name)
        const nextStep = `declare it in schedules, or remove it with \`detent schedule remove ${name}\``
        return schedule === undefined
          ? Effect.fail(new NotDeclared({ what: `schedule ${name}`, nextStep }))
          : Effect.succeed(schedule.start(time))
      }
      const declared = targets.get(target.name)
      if (declared === undefined) {
        const nextStep = `declare it in scheduleTargets, or remove schedule ${name}`
        return Effect.fail(new NotDeclared({ what: `schedule target ${target.name}`, nextStep }))
      }
      const problem = declared.problemOf(target.input)
      return problem === undefined
        ? Effect.succeed(declared.start(time, target.input))
        : Effect.fail(refuse(`its input does not fit: ${problem}`))
    } catch (cause) {
      return Effect.fail(refuse(`its code failed: ${describe(cause)}`))
    }
  })

const targetOf = (request: StartRequest, time: ScheduledTime): RunTarget => {
  switch (request._tag) {
    case "Instance":
      return { kind: "instance", name: request.machine, id: request.id }
    case "Execution":
      return { kind: "execution", name: request.workflow._tag, id: request.id }
    case "Command":
      return { kind: "command", name: request.queue, id: request.key ?? time.id }
  }
}

/** Why something could not be started now. Another attempt may succeed. */
export type StartFailure = NotDeclared | StartError | EnqueueError

/** Starts what a request describes, unless it exists. A command without a key gets the given one. */
export const carryOutStart = <E>(
  workflows: Declared["workflows"],
  request: StartRequest,
  key: string,
  refuse: (problem: string) => E,
): Effect.Effect<void, E | StartFailure, Engine | Commands> =>
  Effect.gen(function* () {
    switch (request._tag) {
      case "Instance": {
        const engine = yield* Engine
        const machine = yield* registeredMachine(request.machine)
        const starting = engine.start(machine, request.id, request.input as never)
        return yield* starting.pipe(
          Effect.catchTag("ActorExists", () => Effect.void),
          Effect.catchTag(["InvalidState", "InvalidTransition", "TransitionRefused"], ({ message }) => Effect.fail(refuse(message))),
        )
      }
      case "Execution": {
        const { workflow, id } = request
        if (workflows === undefined) return yield* new NotDeclared({ what: `workflow ${workflow._tag}`, nextStep: registerWorkflow })
        const payload = yield* decodePayload(workflow.payloadSchema, request.input, refuse)
        return yield* workflows.execute(workflow as never, { executionId: id, payload: payload as never, discard: true })
      }
      case "Command":
        return yield* Effect.catchTag(request.enqueue(request.key ?? key), ["InvalidCommand", "InstanceNotFound"], ({ message }) =>
          Effect.fail(refuse(message)),
        )
    }
  }) as Effect.Effect<void, E | StartFailure, Engine | Commands>

const registerWorkflow = "register it: openEngine({ workflows }), or workflows in detent.config.ts"

const decodePayload = <E>(schema: Schema.Top, input: unknown, refuse: (problem: string) => E) =>
  Effect.mapError((schema as unknown as Schema.Codec<unknown>).makeEffect(input as never), (issue) =>
    refuse(`its input does not fit: ${schemaProblem(schema as never, new Schema.SchemaError(issue))}`),
  )

const registeredMachine = (name: string): Effect.Effect<KnownMachine, NotDeclared, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    Option.match(engine.machine(name), {
      onSome: Effect.succeed,
      onNone: () =>
        Effect.fail(
          new NotDeclared({ what: `machine ${name}`, nextStep: "register it: openEngine({ machines }), or machines in detent.config.ts" }),
        ),
    }),
  )

/** Ends the run before. It may take a while; the next attempt finds out whether it has ended. */
const cancel = (declared: Declared, { kind, name, id }: RunTarget, request: StartRequest, refuse: Refuse) =>
  Effect.gen(function* () {
    switch (kind) {
      case "instance": {
        if (request._tag !== "Instance" || request.machine !== name || request.cancel === undefined)
          return yield* refuse(`instance ${name}/${id} cannot be cancelled; give startInstance the option cancel, an event that ends it`)
        const instance = (yield* Engine).find({ machine: name, id })
        if (Option.isNone(instance)) return yield* Effect.asVoid(registeredMachine(name))
        // The event is refused by an instance that has just ended, and by one whose state does not take it yet.
        return yield* Effect.catchTag(
          instance.value.send(request.cancel as never, { id: `cancelled by ${request.id}` }),
          ["MachineStopped", "InvalidTransition", "TransitionRefused", "InstanceNotFound"],
          ({ message }) => Effect.logDebug(message),
        )
      }
      case "execution": {
        if (request._tag !== "Execution" || declared.workflows === undefined)
          return yield* refuse(`execution ${name}/${id} cannot be cancelled; the schedule starts something else now. End it by hand`)
        return yield* declared.workflows.interruptUnsafe(request.workflow as never, id)
      }
      case "command":
        return yield* DeadLetters.skip(id, "the next run of its schedule replaces it", { queue: name })
    }
  })
