/** Side effects of a program, in a file that survives the process. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import type { JournalService } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { machineOf } from "../../../src/DurableWorkflow.ts"

export class Deeds {
  readonly #file: string
  readonly #program: string
  readonly #journal: JournalService | undefined

  /** With a journal, a call is recorded as wrong if its result was stored before. */
  constructor(file: string, program: string, journal?: JournalService) {
    this.#file = file
    this.#program = program
    this.#journal = journal
  }

  note(what: string): Effect.Effect<void> {
    return Effect.sync(() => appendFileSync(this.#file, `${JSON.stringify([this.#program, what])}\n`))
  }

  /** How often something has been done. */
  noted(what: string): Effect.Effect<number> {
    return Effect.sync(() => readDeeds(this.#file, this.#program).filter((deed) => deed === what).length)
  }

  /** An activity that takes a moment and returns its name. */
  activity(name: string) {
    const execute = Effect.gen({ self: this }, function* () {
      yield* this.#check(`Activity/${name}`)
      yield* this.note(name)
      yield* Effect.sleep(15)
      return name
    })
    return Activity.make({ name, success: Schema.String, execute })
  }

  /** What compensates a step. */
  compensation(step: string, what: string): Effect.Effect<void, never, WorkflowInstance> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#check(`Compensated/${step}`)
      yield* this.note(what)
      yield* Effect.sleep(10)
    })
  }

  #check(tag: string): Effect.Effect<void, never, WorkflowInstance> {
    return Effect.gen({ self: this }, function* () {
      const journal = this.#journal
      if (journal === undefined) return
      const { workflow, executionId } = yield* WorkflowInstance
      const events = yield* Effect.option(journal.events({ machine: machineOf(workflow._tag), id: executionId }, 0, 1000))
      const isStored = Option.getOrElse(events, () => []).some((event) => event.tag === tag)
      if (isStored) yield* this.note(`WRONG: ${tag} is stored and was done again`)
    })
  }
}

export const readDeeds = (file: string, program: string): ReadonlyArray<string> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as readonly [string, string])
        .flatMap(([of, what]) => (of === program ? [what] : []))
    : []
