/**
 * Actors that send events as long as they run: callbacks and observables. They run in the process that owns the instance, and start again
 * in another process that takes it over. Events that the chart sends them are read from the journal, so that none is missed while the
 * process runs.
 */
import { Engine, type Instance } from "@detent/durable"
import type { Self } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { type AnyActor, createActor, type EventObject, fromTransition } from "xstate"
import { type Chart, ownEvent } from "./Chart.ts"
import { sentEvent } from "./ChartDecisions.ts"
import type { AnyChartState, ChildActor } from "./ChartState.ts"
import { storable, storableError } from "./PlainData.ts"

/** The background work of an instance: runs until the instance ends or another process takes it over. */
export const liveActors = (chart: Chart, machine: string) => (context: { readonly id: string; readonly self: Self<Tagged> }) =>
  Effect.flatMap(Effect.serviceOption(Engine), (engine) => {
    const instance = Option.flatMap(engine, (service) => service.find({ machine, id: context.id }))
    if (Option.isNone(instance)) return Effect.die(new Error("callbacks and observables of a chart need a durable engine"))
    return Effect.scoped(follow(chart, instance.value, context.self))
  })

/** How many events are read from the journal at once. */
const pageSize = 100

const follow = (chart: Chart, instance: Instance<Tagged, Tagged>, self: Self<Tagged>) =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<Tagged>()
    const running = new RunningActors(chart, (event) => Queue.offerUnsafe(events, event))
    yield* Effect.addFinalizer(() => Effect.sync(() => running.stopAll()))
    yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(events), (event) => self.tell(event))))
    let { sequence, state } = yield* instance.stored
    running.become((state as AnyChartState).children ?? {})
    yield* Stream.runForEach(instance.changes, () =>
      Effect.gen(function* () {
        // Many events of another process can be one change.
        for (let isMore = true; isMore; ) {
          const page = yield* instance.historyPage({ after: sequence, limit: pageSize })
          for (const entry of page) {
            sequence = entry.sequence
            state = entry.state
            const { children = {}, sent = [] } = state as AnyChartState
            running.become(children)
            for (const { to, n, event } of sent) running.send(to, n, event)
          }
          isMore = page.length === pageSize
        }
      }),
    )
  })

interface Running {
  readonly n: number
  readonly actor: AnyActor
  readonly stop: () => void
}

/** Only its parent may stop an actor. */
interface StopChild extends EventObject {
  readonly type: "(stop)"
  readonly child: AnyActor
}

const isStop = (event: EventObject): event is StopChild => event.type === "(stop)"

/** The actors of one instance that run in this process, by id. */
class RunningActors {
  readonly #chart: Chart
  readonly #tell: (event: Tagged) => void
  readonly #running = new Map<string, Running>()
  /** Actors that failed and that the chart has not stopped yet: their late events are dropped. */
  readonly #failedOnes = new Set<number>()

  constructor(chart: Chart, tell: (event: Tagged) => void) {
    this.#chart = chart
    this.#tell = tell
  }

  /** Starts actors that the state has and stops those that it no longer has. */
  become(children: Readonly<Record<string, ChildActor>>) {
    for (const [id, { n, stop }] of this.#running) {
      if (children[id]?.n === n) continue
      this.#running.delete(id)
      this.#failedOnes.delete(n)
      stop()
    }
    for (const [id, child] of Object.entries(children)) {
      if (child.kind === "live" && child.ended !== true && !this.#running.has(id)) this.#start(id, child)
    }
  }

  send(id: string, n: number, event: EventObject) {
    const running = this.#running.get(id)
    if (running?.n === n) running.actor.send(event)
  }

  stopAll() {
    for (const { stop } of this.#running.values()) stop()
    this.#running.clear()
  }

  #start(id: string, { src, n, input, sync = false }: ChildActor) {
    const logic = this.#chart.actors.get(src)?.logic
    if (logic === undefined) return
    const receiving = fromTransition((_, event: EventObject, { stopChild }: { readonly stopChild: (child: AnyActor) => void }) => {
      if (isStop(event)) stopChild(event.child)
      else this.#received(id, n, event)
      return undefined
    }, undefined)
    const parent = createActor(receiving).start()
    const actor = createActor(logic, { id, input, parent: parent as never, syncSnapshot: sync, src } as never)
    // XState reports errors of a root actor that has no error handler; the chart gets them as an event.
    actor.subscribe({ error: () => undefined })
    this.#running.set(id, { n, actor, stop: () => parent.send({ type: "(stop)", child: actor } as EventObject) })
    actor.start()
  }

  #received(id: string, n: number, event: EventObject) {
    if (this.#failedOnes.has(n)) return
    const { type } = event
    if (type === `xstate.error.actor.${id}`) return this.#failed(id, n, (event as EventObject & { readonly error: unknown }).error)
    const isResult = type === `xstate.done.actor.${id}`
    const _tag = isResult ? ownEvent.done : type.startsWith("xstate.snapshot.") ? ownEvent.snapshot : this.#chart.eventTag(event)
    const content = _tag === ownEvent.snapshot ? snapshotEvent(event) : event
    const fields = isResult || _tag === ownEvent.snapshot ? { actorId: id, n } : {}
    let stored: object
    try {
      stored = storable(content, `the event of ${id}`) as object
    } catch (error) {
      // The event cannot be stored, so the actor fails as if it had thrown.
      this.#running.get(id)?.stop()
      return this.#failed(id, n, error)
    }
    this.#tell({ ...sentEvent(stored), _tag, ...fields } as Tagged)
  }

  #failed(id: string, n: number, error: unknown) {
    this.#failedOnes.add(n)
    this.#tell({ type: `xstate.error.actor.${id}`, _tag: ownEvent.error, error: storableError(error), actorId: id, n } as Tagged)
  }
}

/** A snapshot as data, without the parts that exist only in this process. */
const snapshotEvent = (event: EventObject): object => {
  const { snapshot } = event as EventObject & {
    readonly snapshot: { readonly status: string; readonly context?: unknown; readonly output?: unknown }
  }
  const { status, context, output } = snapshot
  return { ...event, snapshot: { status, context, output } }
}
