/** The engine: a plain record of its parts, put together once. Each part gets the parts it uses. */

import { Environment, Host, startActor, type Tagged } from "@detent/machine/internal"
import type { JournalService, TimersService } from "@detent/store"
import { retryFailed } from "@detent/store/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { invalidId } from "../errors.ts"
import { ChangeFollower } from "../live/ChangeFollower.ts"
import { Delivery } from "../live/Delivery.ts"
import { HistoryReader } from "../live/HistoryReader.ts"
import type { InstanceContext } from "../live/InstanceContext.ts"
import { InstanceLoader } from "../live/InstanceLoader.ts"
import { InstanceTable, type StartError } from "../live/InstanceTable.ts"
import { OutageRecovery } from "../live/OutageRecovery.ts"
import { RemoteInstances } from "../live/RemoteInstances.ts"
import { StoreWait } from "../live/StoreWait.ts"
import { WorkTakeover } from "../live/WorkTakeover.ts"
import { MachineRegistry, type RegisteredMachine } from "../machine/MachineRegistry.ts"
import type { AcquireLock } from "../nodes/HeldLease.ts"
import { withLeaseCheck } from "../nodes/LeaseCheck.ts"
import type { NodeMembership } from "../nodes/NodeMembership.ts"
import { GroupCommit } from "../runtime/GroupCommit.ts"
import { StoreClock } from "../runtime/StoreClock.ts"
import { observed, outsideSpans, tracingIn } from "../runtime/Telemetry.ts"
import { TimerScheduler } from "../timers/TimerScheduler.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import { TransactionGuard } from "./TransactionGuard.ts"

export interface EngineParts {
  readonly config: EngineConfig
  readonly host: Host
  readonly journal: JournalService
  readonly clock: StoreClock
  readonly timerStore: TimersService
  readonly registry: MachineRegistry
  readonly table: InstanceTable
  /** For callers that wait for a store that does not answer. */
  readonly storeWait: StoreWait
  readonly remote: RemoteInstances
  readonly delivery: Delivery
  readonly loader: InstanceLoader
  readonly history: HistoryReader
  readonly follower: ChangeFollower
  readonly timers: TimerScheduler
  readonly groupCommit: GroupCommit
  readonly transactions: TransactionGuard
  /** Undefined for an engine that only observes. */
  readonly node: NodeMembership | undefined
  readonly takeover: WorkTakeover | undefined
  readonly context: InstanceContext
  /** Starts an instance on the node that has it, and returns its state. */
  readonly begin: (registered: RegisteredMachine, id: string, input: unknown) => Effect.Effect<Tagged, StartError>
  /** Takes no new events, ends the work of all instances, and stores accepted events. Needs the lease of the node until it ends. */
  readonly drain: Effect.Effect<void>
}

export interface EngineServices {
  readonly journal: JournalService
  readonly timers: TimersService
  /** Undefined where instances are not locked. */
  readonly lock: AcquireLock | undefined
  readonly node: NodeMembership | undefined
  readonly environment: Environment
}

export const makeEngine = (services: EngineServices, config: EngineConfig): EngineParts => {
  const { journal, timers: timerStore, node } = services
  let isDrained = false
  const clock = new StoreClock(journal)
  const environment = clock.applyTo(outsideSpans(services.environment))
  const host = new Host(startActor)
  const tracing = tracingIn(environment)
  const groupCommit = new GroupCommit(observed(journal, environment, tracing !== undefined), (effect) => environment.run(effect))
  const servicesOf = (given: Environment) => {
    const { context: services, clock: time } = outsideSpans(given)
    return clock.applyTo(
      new Environment(
        withLeaseCheck(services, () => node?.placement),
        time,
      ),
    )
  }
  const registry: MachineRegistry = new MachineRegistry(servicesOf, config.runsWork, (name) => table.hasAny(name))
  const loader = new InstanceLoader(journal, node === undefined ? "observe" : "work", () => node?.placement?.node())
  const context: InstanceContext = {
    host,
    journal,
    groupCommit,
    limits: config.limits,
    get placement() {
      return node?.placement
    },
    tracing,
    loader,
    claimWork: (record) => takeover?.claim(record) ?? Effect.succeed(record.owner),
    isClosed: () => table.isClosed,
    isLocal: (key) => node?.placement?.routing?.isLocal(key) ?? true,
    isKept: (instance) => table.findNamed(instance.name) === instance && context.isLocal(instance.key),
    storeTimeoutMillis: Duration.toMillis(config.storeTimeout),
    storeRetry: Schedule.max([
      Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("1 second")]),
      Schedule.during(config.storeTimeout),
    ]).pipe(Schedule.while(() => !isDrained)),
    outageRetry: Schedule.min([Schedule.exponential("250 millis", 2), Schedule.spaced("10 seconds")]),
    workRetry: Schedule.min([Schedule.exponential("1 second", 2), Schedule.spaced("1 minute")]),
    lock: services.lock,
    timers: {
      arm: (instance, armed) => timers.heap.sync(instance.name, instance.key, armed),
      stored: (name, timer) => timers.stored(name, timer),
      stale: (key, timer) => timers.stale(key, timer),
      handled: (key, timer) => timers.handled(key, timer),
      refused: (key, timer, error) => timers.refused(key, timer, error),
    },
    prune: (key, through, after, pruned) => {
      // Events that are not pruned now are pruned with the next snapshot.
      environment.run(
        Effect.matchEffect(journal.prune(key, through, after), {
          onFailure: (error) => Effect.logWarning(`the journal of ${key.machine} ${key.id} could not be pruned`, error.message),
          onSuccess: () => Effect.sync(pruned),
        }),
      )
    },
    settled: () => table.settled(),
    gone: (instance) => {
      table.gone(instance)
      if (context.isLocal(instance.key)) timers.forgetFar(instance.name)
      else timers.heap.cancelAfter(instance.name, Number.NEGATIVE_INFINITY)
    },
    bringBack: (key) => recovery.bringBack(key),
    wake: (key) => void environment.run(remote.wake(key)),
    sendOn: (key, envelopes, error) => delivery.sendOn(key, envelopes, error),
    working: (instance, isWorking) => follower.working(instance.name, isWorking),
    postponing: (instance, isPostponing) => follower.postponing(instance.name, isPostponing),
    workEnding: (instance, ending) => {
      host.awaits(ending)
      table.workEnding(instance, ending)
    },
    changedForeign: (key) => follower.changedForeign(key),
  }
  const remote = new RemoteInstances(() => node?.placement?.routing, {
    journal,
    registry,
    table: () => table,
    storeWait: () => storeWait,
    gained: () => takeover?.gained(),
  })
  const table: InstanceTable = new InstanceTable(context, registry, loader, environment)
  const delivery = new Delivery(table, remote, context, environment)
  const follower: ChangeFollower = new ChangeFollower(journal, loader, environment, config.followMillis, (name) => table.findNamed(name))
  const takeover =
    node === undefined ? undefined : new WorkTakeover({ journal, registry, table, follower, wake: context.wake }, node, config.leaseMillis)
  const storeWait: StoreWait = new StoreWait(table, context, environment)
  const recovery: OutageRecovery = new OutageRecovery(table, environment)
  const timers: TimerScheduler = new TimerScheduler(
    timerStore,
    table,
    environment,
    groupCommit,
    config.sweeper.intervalMillis,
    tracing === undefined ? undefined : journal,
  )
  const drain = Effect.gen(function* () {
    const reason = "the engine was stopped"
    table.close(reason)
    node?.close()
    timers.heap.close()
    recovery.close()
    storeWait.close()
    yield* follower.close(reason)
    table.stopWork()
    yield* Effect.timeoutOption(table.allSettled, config.drainTimeout)
    // The store closes after the engine: callers that wait for it get its error.
    isDrained = true
    yield* table.leaveAll(reason)
    yield* host.close
  })
  return {
    config,
    host,
    journal,
    clock,
    timerStore,
    registry,
    table,
    storeWait,
    remote,
    delivery,
    loader,
    history: new HistoryReader(journal),
    follower,
    timers,
    groupCommit,
    transactions: new TransactionGuard(journal, host),
    node,
    takeover,
    context,
    begin: (registered, id, input) => {
      const begun = Effect.suspend(() => {
        const invalid = invalidId(registered.name, id)
        const routing = invalid === undefined && !table.isClosed ? remote.routeTo({ machine: registered.name, id }) : undefined
        return routing === undefined
          ? Effect.map(table.start(registered, id, input), ({ record }) => record.currentState)
          : remote.start(routing, context, registered, id, input)
      })
      // A node that lost its lease meanwhile acquires a new one, or starts the instance on the node that has it now.
      return retryFailed(begun, { schedule: context.storeRetry, while: ({ _tag }) => _tag === "LockingFailed" })
    },
    drain,
  }
}
