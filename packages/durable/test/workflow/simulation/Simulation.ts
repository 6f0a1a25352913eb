/**
 * Runs a made-up workflow on nodes that are killed, frozen and started again, over a store that fails, under a test clock. What
 * must hold is checked while it runs and when it is over.
 */

import { setImmediate } from "node:timers/promises"
import { Journal, MemoryStore } from "@detent/store"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Activity from "effect/workflow/Activity"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import type { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import * as DurableWorkflow from "../../../src/DurableWorkflow.ts"
import { outage, type Store, StoreProbe } from "../../../testing/engine/StoreProbe.ts"
import { Chance } from "../../simulation/Chance.ts"
import { childrenOf, compensatedOf, isAmbiguous, makeProgram, outcomeOf, type Step, signalsOf } from "./Program.ts"

const Path = Workflow.make("Path", {
  payload: { path: Schema.String },
  success: Schema.String,
  error: Schema.String,
  idempotencyKey: ({ path }) => path,
})

const machine = DurableWorkflow.machineOf("Path")

export interface Simulated {
  readonly problems: ReadonlyArray<string>
  readonly crashes: number
  readonly activities: number
  readonly outcome: "Value" | "Failure"
}

type InWorkflow<A> = Effect.Effect<A, string, WorkflowEngine | WorkflowInstance | Scope.Scope | Workflow.Execution<"Path">>

class World {
  readonly problems: Array<string> = []
  readonly chance: Chance
  readonly store: Store
  readonly program: Step
  readonly bodies: ReadonlyMap<string, Step>
  /** Activities that are undone when their execution fails. */
  readonly compensated: ReadonlySet<string>
  /** Whether steps run side by side: one that fails ends the others wherever they are. */
  readonly isParallel: boolean
  /** How often something was done. */
  readonly done = new Map<string, number>()
  isOver = false

  constructor(seed: number, store: Store) {
    this.chance = new Chance(seed)
    this.store = store
    let program = makeProgram(this.chance)
    while (isAmbiguous(program)) program = makeProgram(this.chance)
    this.program = program
    this.bodies = new Map([["root", program], ...childrenOf(program)])
    this.compensated = new Set(compensatedOf(program))
    this.isParallel = JSON.stringify(program).includes('"Parallel"')
  }

  get layer() {
    return Path.toLayer(({ path }, executionId) => this.interpret(this.bodies.get(path) as Step, executionId))
  }

  interpret(step: Step, id: string): InWorkflow<string> {
    switch (step._tag) {
      case "Activity":
        return this.activity(step.name, id, Effect.as(step.millis === 0 ? Effect.void : Effect.sleep(step.millis), step.name))
      case "Flaky":
        return Activity.retry(
          this.activity(
            step.name,
            id,
            Effect.flatMap(Activity.CurrentAttempt, (attempt) =>
              attempt <= step.failures ? Effect.fail("flaky") : Effect.succeed(step.name),
            ),
          ),
          { times: 5 },
        )
      case "Sleep":
        return Effect.as(DurableClock.sleep({ name: step.name, duration: `${step.minutes} minutes` }), step.name)
      case "Await":
        return DurableDeferred.await(DurableDeferred.make(step.name, { success: Schema.String }))
      case "Compensated":
        return Path.withCompensation(this.interpret(step.step, id), () => this.undo(step.step.name, id))
      case "Sequence":
        return Effect.map(
          Effect.forEach(step.steps, (one) => this.interpret(one, id)),
          (values) => `[${values.join()}]`,
        )
      case "Parallel":
        return Effect.map(
          Effect.forEach(step.steps, (one) => this.interpret(one, id), { concurrency: "unbounded" }),
          (values) => `[${values.join()}]`,
        )
      case "Child":
        return Effect.map(Path.execute({ path: step.name }), (value) => `${step.name}(${value})`)
      case "Caught":
        return Effect.catch(this.interpret(step.step, id), (error) => Effect.succeed(`caught ${error}`))
      case "Fail":
        return Effect.fail(step.name)
    }
  }

  activity(name: string, id: string, execute: Effect.Effect<string, string>) {
    const checked = Effect.flatMap(Activity.CurrentAttempt, (attempt) => {
      if (this.isStored(id, (tag, body) => tag === `Activity/${name}` && body.includes(`"attempt":${attempt},`)))
        this.problems.push(`${name} ran again after attempt ${attempt} was stored`)
      this.note(name)
      return execute
    })
    return Activity.make({ name, success: Schema.String, error: Schema.String, execute: checked })
  }

  /** Takes some time, so that processes die in the middle of compensating. */
  undo(name: string, id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isStored(id, (tag) => tag === `Compensated/${name}`)) this.problems.push(`${name} was undone again after that was stored`)
      this.note(`undo ${name}`)
      return Effect.sleep(this.chance.between(0, 3000))
    })
  }

  note(what: string) {
    if (this.isOver) this.problems.push(`${what} was done after the end`)
    this.done.set(what, (this.done.get(what) ?? 0) + 1)
  }

  isStored(id: string, matches: (tag: string, body: string) => boolean): boolean {
    const events = Effect.runSync(Context.get(this.store, Journal).events({ machine, id }, 0, 10_000))
    return events.some(({ tag, body }) => matches(tag, body))
  }
}

interface Node {
  readonly probe: StoreProbe
  /** From now on the store does not answer the node until it is thawed. Its requests are performed then. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  readonly run: <A, E>(effect: Effect.Effect<A, E, WorkflowEngine>) => Effect.Effect<A, E>
  readonly close: Effect.Effect<void>
}

const openNode = (world: World, nodeId: string): Effect.Effect<Node> =>
  Effect.gen(function* () {
    const probe = new StoreProbe()
    const ice = Latch.makeUnsafe(true)
    const thawed = <A, E>(effect: Effect.Effect<A, E>) => Effect.andThen(ice.await, effect)
    probe.onCommit = (_, commit) => {
      if (!world.chance.happens(0.15)) return thawed(commit)
      return thawed(world.chance.happens(0.5) ? Effect.fail(outage()) : Effect.andThen(commit, Effect.fail(outage())))
    }
    probe.onOpen = (read) => thawed(world.chance.happens(0.05) ? Effect.fail(outage("read")) : read)
    probe.onClaim = thawed
    probe.onLease = thawed
    const scope = yield* Scope.make()
    const layer = world.layer.pipe(
      Layer.provideMerge(DurableWorkflow.layer({ nodeId, lease: "20 seconds", drainTimeout: "1 second" })),
      Layer.provide(Layer.succeedContext(probe.wrap(world.store))),
    )
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    const run: Node["run"] = (effect) => Effect.provide(effect, context)
    return { probe, run, freeze: ice.close, thaw: ice.open, close: Scope.close(scope, Exit.void) }
  })

/** How many turns of the event loop everything gets that needs no time of the test clock. Counted, so that a busy machine gives it as many. */
const turns = 15

const settle = Effect.promise(async () => {
  for (let turn = 0; turn < turns; turn++) await setImmediate()
})

export const simulate = (seed: number): Effect.Effect<Simulated, unknown> =>
  Effect.gen(function* () {
    const world = new World(seed, yield* MemoryStore.make)
    const { chance } = world
    const journal = Context.get(world.store, Journal)
    const nodes: Array<Node> = [yield* openNode(world, "a"), yield* openNode(world, "b")]
    const [first] = nodes as [Node, Node]
    yield* Effect.forkDetach(first.run(Path.execute({ path: "root" }, { discard: true })))
    const root = yield* Path.executionId({ path: "root" })
    const signals = [...signalsOf(world.program)]
    const frozen: Array<Node> = []
    let crashes = 0
    const isOver = Effect.map(journal.list({ machine, status: "running" }, 100), ({ instances }) => instances.length === 0)
    const tagOf = Effect.map(journal.open({ machine, id: root }), (found) => (found._tag === "None" ? "none" : found.value.record.tag))
    for (let turn = 0; turn < 3000; turn++) {
      yield* settle
      const tag = yield* tagOf
      if ((tag === "Completed" || tag === "Failed") && (yield* isOver)) break
      const { instances: compensating } = yield* journal.list({ machine, tag: "Compensating" }, 1)
      if (chance.happens(compensating.length > 0 ? 0.25 : 0.04) && crashes < 8) {
        crashes++
        const index = chance.between(0, 1)
        const node = nodes[index] as Node
        const how = chance.pick(["kill", "stop", "freeze"] as const)
        if (how === "kill") node.probe.isCut = true
        if (how === "stop") yield* Effect.forkDetach(node.close)
        if (how === "freeze") {
          yield* node.freeze
          frozen.push(node)
        }
        // A node that only hangs is replaced by one of another name; it comes back much later.
        nodes[index] = yield* openNode(world, how === "freeze" ? `${index}-${crashes}` : index === 0 ? "a" : "b")
      }
      if (frozen.length > 0 && chance.happens(0.03)) yield* frozen.shift()?.thaw ?? Effect.void
      if (signals.length > 0 && chance.happens(0.1)) {
        const [signal] = signals.splice(chance.between(0, signals.length - 1), 1)
        if (signal !== undefined) yield* Effect.forkDetach(complete(nodes, chance, signal))
      }
      if (chance.happens(0.5)) yield* TestClock.adjust(chance.pick([50, 500, 2000, 10_000, 60_000]))
      // A caller asks for it again, as callers do whose process died.
      if (tag === "none") yield* Effect.forkDetach(chance.pick(nodes).run(Path.execute({ path: "root" }, { discard: true })))
    }
    world.isOver = true
    yield* verdict(world, root)
    yield* Effect.forEach([...nodes, ...frozen], ({ probe, close }) => {
      probe.isCut = true
      return Effect.forkDetach(close)
    })
    return { problems: world.problems, crashes, activities: world.done.size, outcome: outcomeOf(world.program)._tag }
  })

/** Repeats until it is stored, on any node that runs: one that is stopped meanwhile ends the attempt. */
const complete = (nodes: ReadonlyArray<Node>, chance: Chance, { path, name }: { readonly path: string; readonly name: string }) => {
  const deferred = DurableDeferred.make(name, { success: Schema.String })
  const attempt = Effect.gen(function* () {
    const executionId = yield* Path.executionId({ path })
    const token = DurableDeferred.tokenFromExecutionId(deferred, { workflow: Path, executionId })
    yield* chance.pick(nodes).run(DurableDeferred.succeed(deferred, { token, value: name }))
  })
  return Effect.gen(function* () {
    const isStored = Effect.map(
      Effect.exit(Effect.timeoutOption(attempt, "30 seconds")),
      (exit) => Exit.isSuccess(exit) && exit.value._tag === "Some",
    )
    while (!(yield* isStored)) yield* settle
  })
}

const verdict = (world: World, root: string) =>
  Effect.gen(function* () {
    const journal = Context.get(world.store, Journal)
    const expected = outcomeOf(world.program)
    const events = yield* Effect.orDie(journal.events({ machine, id: root }, 0, 10_000))
    const last = events.at(-1)
    const wanted = JSON.stringify({
      exit: expected._tag === "Value" ? { success: expected.value } : { failure: [{ _tag: "Fail", error: expected.error }] },
    })
    if (last?.body !== wanted) {
      const tags = events.map(({ tag }) => tag).join(", ")
      world.problems.push(`it ended with ${last?.tag} ${last?.body} instead of ${wanted}; its journal: ${tags}`)
    }
    const { instances } = yield* Effect.orDie(journal.list({ machine }, 1000))
    for (const { id, tag, status } of instances) {
      const tags = (yield* Effect.orDie(journal.events({ machine, id }, 0, 10_000))).map((event) => {
        const attempt = /"attempt":(\d+),/.exec(event.body)?.[1] ?? ""
        return `${event.tag} ${attempt}`
      })
      const once = tags.filter((one) => /^(Activity|Deferred|ClockSet|ClockFired|Compensated)/.test(one))
      if (new Set(once).size !== once.length) world.problems.push(`${id} has something twice: ${once.join(", ")}`)
      if (status === "held") world.problems.push(`${id} is held`)
      const compensable = tags.filter(
        (one) => one.startsWith("Activity/") && world.compensated.has(one.slice("Activity/".length).split(" ")[0] ?? ""),
      )
      const undone = tags.filter((one) => one.startsWith("Compensated/"))
      if (tag === "Failed" && !world.isParallel && undone.length !== compensable.length)
        world.problems.push(`${id} failed: of ${compensable.join()} only ${undone.join()} was undone`)
      if (tag === "Completed" && tags.some((one) => one.startsWith("Compensated")))
        world.problems.push(`${id} succeeded and was compensated`)
    }
  })
