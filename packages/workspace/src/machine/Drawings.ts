/**
 * Drawings and layouts of machines. A layout takes seconds of processor time where a machine is large, so a worker process computes it,
 * within limits of time and memory, once for each structure of a machine.
 */
import { createHash } from "node:crypto"
import type { KnownMachine } from "@detent/durable"
import { SharedResults } from "@detent/durable/internal"
import { Layout, Svg } from "@detent/machine/diagram"
import { limitText, makeProcessPool, moduleBeside, type TaskLimit, type WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type PlaceInput, placeTask } from "./LayoutTask.ts"

/** The machine is larger than a drawing can show, or its layout exceeded a limit. */
export class DiagramTooLarge extends Schema.TaggedError<DiagramTooLarge>()("DiagramTooLarge", {
  machine: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.machine} ${this.problem}; read its transitions as a table, or draw it from the format mermaid or dot`
  }
}

/** The layout failed. */
export class DiagramFailed extends Schema.TaggedError<DiagramFailed>()("DiagramFailed", {
  machine: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.machine} could not be drawn: ${this.problem}; draw it from the format mermaid or dot`
  }
}

export type DrawingProblem = DiagramTooLarge | DiagramFailed

type Drawn<A> = Effect.Effect<A, DrawingProblem>

/** A larger drawing is unreadable. 100 densely connected states take 3 seconds of processor time, 200 take 9. */
const mostStates = 300
const mostTransitions = 900

const limit: TaskLimit = { time: "10 seconds", memory: 512 }

/** How many layouts are kept. */
const mostKept = 200

export interface Drawings {
  /** Changes with the structure of the machine. */
  readonly fingerprint: (machine: KnownMachine) => string
  readonly svg: (machine: KnownMachine, options?: Svg.SvgOptions) => Drawn<string>
  readonly layout: (machine: KnownMachine, direction: Layout.Direction) => Drawn<Layout.Layout>
}

export const makeDrawings: Effect.Effect<Drawings, never, Scope.Scope> = Effect.gen(function* () {
  // One worker: layouts must not take the processors from the work of the server.
  const pool = yield* makeProcessPool({ entry: moduleBeside(import.meta.url, "LayoutWorker"), limit, size: 1, queue: 4 })
  // That a limit was exceeded is kept too: another attempt would exceed it again.
  const kept = new SharedResults<Result.Result<Layout.Places, DiagramTooLarge>, DiagramFailed>(yield* Effect.scope, mostKept)
  const fingerprints = new WeakMap<KnownMachine, string>()
  const fingerprint = (machine: KnownMachine): string => {
    const known = fingerprints.get(machine) ?? hashOf(machine.blueprint).slice(0, 16)
    fingerprints.set(machine, known)
    return known
  }
  const placing =
    (machine: KnownMachine): Layout.Placing<DrawingProblem> =>
    (scene, direction) => {
      const problem = sizeProblem(machine)
      if (problem !== undefined) return Effect.fail(new DiagramTooLarge({ machine: machine.name, problem }))
      const input: PlaceInput = { scene, direction }
      // The scene of an instance also has its path, so it is a part of the key.
      const places = pool.run(placeTask, input, undefined, { attempts: 1 }) as Effect.Effect<Layout.Places, WorkerError>
      const outcome = Effect.matchEffect(places, {
        onSuccess: (placed) => Effect.succeed(Result.succeed(placed)),
        onFailure: (error) => outcomeOf(machine, error),
      })
      return Effect.flatMap(kept.get(`${direction} ${hashOf(scene)}`, outcome), Effect.fromResult)
    }
  return {
    fingerprint,
    svg: (machine, options) => Svg.renderWith(placing(machine), machine, options),
    layout: (machine, direction) => Layout.makeWith(placing(machine), machine, { direction }),
  }
})

const sizeProblem = ({ blueprint: { states, transitions } }: KnownMachine): string | undefined => {
  if (states.length > mostStates) return `has ${states.length} states, and a drawing shows at most ${mostStates}`
  if (transitions.length > mostTransitions) return `has ${transitions.length} transitions, and a drawing shows at most ${mostTransitions}`
  return undefined
}

const outcomeOf = (
  { name: machine }: KnownMachine,
  error: WorkerError,
): Effect.Effect<Result.Result<never, DiagramTooLarge>, DiagramFailed> =>
  error._tag === "LimitExceeded"
    ? Effect.succeed(
        Result.fail(new DiagramTooLarge({ machine, problem: `cannot be laid out within ${limitText(limit, error.exceeded)}` })),
      )
    : Effect.fail(new DiagramFailed({ machine, problem: error.problem }))

const hashOf = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex")
