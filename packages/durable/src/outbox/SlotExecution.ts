/**
 * Executes the commands that instances request: calls the handler that `build` was given for the slot, with the command's idempotency key,
 * then sends the instance the event that the machine's definition derives from the result. The event's deduplication id is made of that
 * key, so that an instance accepts the event of a command that is executed twice only once, or once for each retry by an operator.
 */
import { ActionFailed, type Inspection, RetryPolicy, type SlotSettings } from "@detent/machine"
import {
  asFields,
  type CommandOutcome,
  callSlot,
  type Declarations,
  eventOf,
  failedBecause,
  isDeclaredFailure,
  isEffectSlot,
  outcomeOf,
  type Tagged,
} from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { type ClaimedCommand, Commands, type CommandsService, type Verdict } from "@detent/store"
import { inboxOf, monotonicMillis } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { EngineParts } from "../engine/EngineParts.ts"
import { InstanceHandle } from "../engine/InstanceHandle.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { readTrace } from "../runtime/StoredTrace.ts"
import { type Delivered, deliver, deliveredBefore, eventIdOf, failureOf, selfOfCommand } from "./CommandEvents.ts"
import { cut, type Execution, type Failure, type Held, handedKey, selfInterrupted, traced, verdictOn } from "./Execution.ts"
import { inboxExecution } from "./InboxExecution.ts"
import { startWorker, type Worker } from "./Worker.ts"
import { millisOf, type WorkerConfig, type WorkerOptions } from "./WorkerConfig.ts"

type Handler = (parameters: object, context: unknown) => unknown

interface SlotCommand {
  readonly command: Held
  readonly key: InstanceKey
  readonly registered: RegisteredMachine
  readonly handler: Handler
  readonly parameters: object
  /** The ids of events that the handler has sent to its instance and that are not decided yet. */
  readonly undecided: Set<string>
}

export class SlotExecution {
  readonly #engine: EngineParts
  readonly #commands: CommandsService
  readonly worker: Worker
  readonly #config: WorkerConfig
  readonly #known = new WeakSet<RegisteredMachine>()
  readonly #served = new Set<string>()
  readonly #decoders = new WeakMap<object, Map<string, (json: string) => object>>()

  constructor(engine: EngineParts, commands: CommandsService, worker: Worker, config: WorkerConfig) {
    this.#engine = engine
    this.#commands = commands
    this.worker = worker
    this.#config = config
  }

  /** Executes the commands of a machine from now on, if it was built with handlers. */
  serve(registered: RegisteredMachine) {
    if (this.#known.has(registered)) return
    this.#known.add(registered)
    const { name, compiled } = registered
    if (this.#commands.hasInboxes === true)
      this.worker.serve(inboxOf(name), inboxExecution(this.#engine, registered, this.#config, this.#commands))
    const { effectSlots, handlers, commands } = compiled.declarations
    if (handlers === undefined) return
    for (const slot of Object.keys(effectSlots)) {
      const queue = commands?.[slot]?.queue ?? name
      if (this.#served.has(queue)) continue
      this.#served.add(queue)
      this.worker.serve(queue, (command) => this.#find(command))
    }
  }

  #find(command: Held): Execution | undefined {
    const { slot, instance, attempts } = command
    const registered = instance === undefined ? undefined : this.#engine.registry.get(instance.machine)
    if (instance === undefined || registered === undefined) return undefined
    const { declarations } = registered.compiled
    const handler = declarations.handlers?.[slot]
    if (handler === undefined || declarations.effectSlots[slot] === undefined) return undefined
    const { timeout, retry = this.#config.retry } = declarations.commands?.[slot] ?? {}
    const undecided = new Set<string>()
    const common = {
      timeoutMillis: timeout === undefined ? this.#config.timeoutMillis : millisOf(timeout),
      maxAttempts: RetryPolicy.maxAttempts(retry),
      run: <A>(effect: Effect.Effect<A, never, unknown>) => registered.environment.run(effect),
      isPostponed: () => {
        const live = this.#engine.table.find(instance)
        return live !== undefined && [eventIdOf(command), ...undecided].some((id) => live.isPostponed(id))
      },
    }
    const judge = (parameters: object) => (outcome: CommandOutcome) =>
      this.#judge({ command, key: instance, registered, handler, parameters, undecided }, retry, outcome)
    try {
      const parameters = this.#decode(registered, slot, command.parameters)
      const execution = { command, key: instance, registered, handler, parameters, undecided }
      const execute = traced(registered.environment.context, command, this.#execute(execution, judge(parameters)), () =>
        readTrace(this.#engine.journal, instance, command.sequence),
      )
      const conclude = judge(parameters)
      if (attempts === 1 || !hasFollowUp(declarations.commands?.[slot])) return { ...common, execute, conclude }
      const unlessDelivered = <R>(otherwise: Effect.Effect<Verdict, never, R>) =>
        Effect.flatMap(deliveredBefore(this.#engine, instance, command), (verdict) =>
          verdict === undefined ? otherwise : Effect.succeed(verdict),
        )
      return { ...common, execute: unlessDelivered(execute), conclude: (failure) => unlessDelivered(conclude(failure)) }
    } catch (cause) {
      const unreadable = failedBecause("its parameters do not fit the schema of its slot", false, cause)
      return { ...common, maxAttempts: Math.max(common.maxAttempts, attempts), execute: judge({})(unreadable), conclude: judge({}) }
    }
  }

  #decode({ compiled }: RegisteredMachine, slot: string, json: string): object {
    const decoders = this.#decoders.get(compiled) ?? new Map<string, (json: string) => object>()
    this.#decoders.set(compiled, decoders)
    const decode = decoders.get(slot) ?? parametersDecoder(compiled.declarations.effectSlots[slot] ?? {})
    decoders.set(slot, decode)
    return decode(json)
  }

  #execute(
    { command, key, registered, handler, parameters, undecided }: SlotCommand,
    judge: (outcome: CommandOutcome) => Effect.Effect<Verdict>,
  ): Effect.Effect<Verdict, never, unknown> {
    const { slot } = command
    const { declarations } = registered.compiled
    const call = (context: object) =>
      Effect.suspend(() => {
        // The claim may have ended while the state was read.
        if (command.validUntil <= monotonicMillis(registered.environment.clock)) return Effect.succeed(handedBack)
        this.#inspect(key, registered, { _tag: "CommandStarted", slot })
        return Effect.flatMap(Effect.exit(callSlot(declarations, slot, parameters, context)), (exit) => {
          const outcome = outcomeOf(exit, declarations.effectSlots[slot])
          this.#inspect(key, registered, { _tag: "CommandEnded", slot, error: errorOf(key, slot, outcome) })
          return judge(outcome)
        })
      })
    return Effect.flatMap(Effect.exit(this.#context(command, key, registered, handler, undecided)), (exit) =>
      exit._tag === "Success" ? call(exit.value) : judge(outcomeOf(exit, undefined)),
    )
  }

  /** The state must be read from the journal if the instance has changed since, so only handlers that take a context get it. */
  #context(command: ClaimedCommand, key: InstanceKey, registered: RegisteredMachine, handler: Handler, undecided: Set<string>) {
    const { id } = key
    const { sequence, attempts: attempt } = command
    const self = selfOfCommand(this.#engine, key, command, undecided)
    const context = { id, key: handedKey(this.#config.databaseId, command), self, sequence, attempt }
    if (handler.length < 2) return Effect.succeed(context)
    return Effect.map(this.#stateAsRequested(command, key, registered), (state) => ({ ...context, state }))
  }

  #stateAsRequested({ sequence }: ClaimedCommand, key: InstanceKey, registered: RegisteredMachine) {
    const handle = new InstanceHandle(this.#engine, registered, key.id)
    const current = this.#engine.table.find(key) !== undefined || sequence < 0 ? handle.snapshot : Effect.undefined
    return Effect.flatMap(current, (snapshot) =>
      snapshot !== undefined && (snapshot.sequence === sequence || sequence < 0)
        ? Effect.succeed(snapshot.state)
        : // The journal was pruned: only the current state is left.
          Effect.catch(handle.stateAt(sequence), () => handle.state),
    )
  }

  #judge(execution: SlotCommand, retry: RetryPolicy.RetryPolicy, outcome: CommandOutcome): Effect.Effect<Verdict> {
    const { command, registered } = execution
    const { commands, effectSlots } = registered.compiled.declarations
    const again = (failure: Failure) =>
      verdictOn(failure, commands?.[command.slot] ?? {}, effectSlots[command.slot], retry, command.attempts)
    switch (outcome._tag) {
      case "Done":
        return this.#followUp(execution, outcome, { _tag: "Completed" }, again)
      case "AlreadyExecuted":
        return Effect.succeed({ _tag: "Skipped", reason: cut(outcome.reason) })
      case "Interrupted":
        return Effect.flatMap(again(selfInterrupted), (verdict) =>
          verdict._tag === "Failed" ? this.#followUp(execution, selfInterrupted, verdict, again) : Effect.succeed(verdict),
        )
      case "Failed":
        return Effect.flatMap(again(outcome), (verdict) =>
          verdict._tag === "Failed" ? this.#followUp(execution, outcome, verdict, again) : Effect.succeed(verdict),
        )
    }
  }

  /** Sends the event first: a command has ended only when the event that follows from it is stored. */
  #followUp(
    { command, key, registered, parameters }: SlotCommand,
    outcome: CommandOutcome,
    verdict: Verdict,
    again: (failure: Failure) => Effect.Effect<Verdict>,
  ): Effect.Effect<Verdict> {
    const { slot, attempts } = command
    return Effect.suspend(() => {
      let event: Tagged | undefined
      try {
        event = eventOf(
          registered.compiled.declarations,
          { slot, id: key.id, key: handedKey(this.#config.databaseId, command), parameters, attempts },
          outcome,
        )
      } catch (cause) {
        return again(failedBecause("its onSuccess or onFailure threw, so that no event follows from it", false, cause))
      }
      if (event === undefined) return Effect.succeed(verdict)
      const { effectSlots } = registered.compiled.declarations
      const isExpected = verdict._tag === "Failed" && outcome._tag === "Failed" && isDeclaredFailure(outcome.error, effectSlots[slot])
      const taken: Verdict = isExpected ? { _tag: "Handled", problem: verdict.problem } : verdict
      const { _tag: tag } = event
      return Effect.flatMap(deliver(this.#engine, key, event, eventIdOf(command), failureOf(taken)), (delivered: Delivered) => {
        if (delivered._tag === "Decided")
          return Effect.succeed(delivered.refused === undefined ? taken : withRefusal(verdict, tag, delivered.refused))
        if (delivered._tag === "TooLarge") return Effect.succeed(withLargeResult(verdict, tag, delivered.problem))
        if (this.#engine.table.isClosed) return Effect.succeed<Verdict>({ _tag: "Released", delayMillis: 0 })
        return again(failedBecause(`it was executed, but its event could not be stored: ${delivered.problem}`, true))
      })
    })
  }

  #inspect({ machine, id }: InstanceKey, { environment }: RegisteredMachine, what: CommandInspection) {
    const { inspectors } = this.#engine.host
    if (inspectors.size === 0) return
    const inspection = { machine, id, at: environment.clock.currentTimeMillisUnsafe(), ...what } as Inspection
    for (const inspector of [...inspectors]) inspector(inspection)
  }
}

/** The verdict on a command whose event was refused: nothing handled its failure, and its success changed nothing. */
const withRefusal = (verdict: Verdict, event: string, refusal: string): Verdict => {
  const problem = cut(`its event ${event} was refused: ${refusal}`)
  if (verdict._tag === "Completed") return { _tag: "Completed", problem }
  return verdict._tag === "Failed" ? { ...verdict, problem: cut(`${verdict.problem}; ${problem}`) } : verdict
}

/**
 * The verdict on a command whose event is too large to store. Its effect may have been successful, so its instance gets no event of
 * `onFailure`; and it is not executed again by itself, because its result would not be smaller.
 */
const withLargeResult = (verdict: Verdict, event: string, problem: string): Verdict => {
  if (verdict._tag !== "Completed") return withRefusal(verdict, event, problem)
  const lost = `it was executed, and its event ${event} with the result cannot be stored: ${problem}`
  return { _tag: "Failed", problem: cut(`${lost}; or raise limits.eventSize; then retry the command`) }
}

/** Whether an event follows from the result. */
const hasFollowUp = (settings: Pick<SlotSettings<object, unknown, unknown, Tagged>, "onSuccess" | "onFailure"> | undefined): boolean =>
  settings?.onSuccess !== undefined || settings?.onFailure !== undefined

const handedBack: Verdict = { _tag: "Released", delayMillis: 0 }

type CommandInspection =
  | { readonly _tag: "CommandStarted"; readonly slot: string }
  | { readonly _tag: "CommandEnded"; readonly slot: string; readonly error: ActionFailed | undefined }

const errorOf = (key: InstanceKey, slot: string, outcome: CommandOutcome): ActionFailed | undefined => {
  if (outcome._tag !== "Failed") return undefined
  const cause = new Error(`${slot}: ${outcome.problem}`, { cause: outcome.error })
  return new ActionFailed({ ...key, phase: "effect", state: "(a command)", committed: true, cause })
}

const parametersDecoder = (slot: Declarations["effectSlots"][string]): ((json: string) => object) => {
  const fields = isEffectSlot(slot) ? slot.parameters : slot
  const decode = Schema.decodeUnknownSync(Schema.toCodecJson(Schema.Struct(asFields(fields)) as unknown as Schema.Codec<object, unknown>))
  return (json) => decode(JSON.parse(json))
}

/** The execution of an engine's commands; undefined if the store keeps no commands, or if other processes execute them. */
export const slotExecution = (
  engine: EngineParts,
  options: WorkerOptions | false,
): Effect.Effect<SlotExecution | undefined, never, Scope.Scope> =>
  Effect.gen(function* () {
    const commands = yield* Effect.serviceOption(Commands)
    if (commands._tag === "None") return undefined
    engine.groupCommit.whenRequested((queues) => commands.value.signal.announce(queues))
    if (options === false) return undefined
    const { worker, config } = yield* startWorker(commands.value, options, engine.config.nodeId)
    return new SlotExecution(engine, commands.value, worker, config)
  })
