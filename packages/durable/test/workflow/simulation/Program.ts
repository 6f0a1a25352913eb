/** Random workflows, and the results they must have. */
import type { Chance } from "../../simulation/Chance.ts"

export type Step =
  | { readonly _tag: "Activity"; readonly name: string; readonly millis: number }
  /** Fails this many times before it succeeds, and is retried. */
  | { readonly _tag: "Flaky"; readonly name: string; readonly failures: number }
  | { readonly _tag: "Sleep"; readonly name: string; readonly minutes: number }
  | { readonly _tag: "Await"; readonly name: string }
  | { readonly _tag: "Compensated"; readonly step: Step & { readonly name: string } }
  | { readonly _tag: "Sequence"; readonly steps: ReadonlyArray<Step> }
  | { readonly _tag: "Parallel"; readonly steps: ReadonlyArray<Step> }
  | { readonly _tag: "Child"; readonly name: string; readonly step: Step }
  /** A failure that is caught. */
  | { readonly _tag: "Caught"; readonly name: string; readonly step: Step }
  | { readonly _tag: "Fail"; readonly name: string }

/** The result of a step. */
export type Outcome = { readonly _tag: "Value"; readonly value: string } | { readonly _tag: "Failure"; readonly error: string }

export const makeProgram = (chance: Chance): Step => {
  let names = 0
  const name = (kind: string) => `${kind}-${names++}`
  const activity = (): Step & { readonly name: string } => ({
    _tag: "Activity",
    name: name("act"),
    millis: chance.between(0, 3) === 0 ? chance.between(1, 5000) : 0,
  })
  const make = (depth: number): Step => {
    const kind = chance.between(0, depth <= 0 ? 5 : 11)
    switch (kind) {
      case 0:
      case 1:
        return activity()
      case 2:
        return { _tag: "Flaky", name: name("flaky"), failures: chance.between(1, 3) }
      case 3:
        return { _tag: "Sleep", name: name("sleep"), minutes: chance.between(1, 30) }
      case 4:
        return { _tag: "Await", name: name("signal") }
      case 5:
        return { _tag: "Compensated", step: activity() }
      case 6:
      case 7:
        return { _tag: "Sequence", steps: many(depth) }
      case 8:
        return { _tag: "Parallel", steps: many(depth) }
      case 9:
        return { _tag: "Child", name: name("child"), step: make(depth - 1) }
      case 10:
        return {
          _tag: "Caught",
          name: name("caught"),
          step: { _tag: "Sequence", steps: [make(depth - 1), { _tag: "Fail", name: name("fail") }] },
        }
      default:
        return { _tag: "Sequence", steps: [{ _tag: "Compensated", step: activity() }, make(depth - 1)] }
    }
  }
  const many = (depth: number) => Array.from({ length: chance.between(1, 4) }, () => make(depth - 1))
  const steps = Array.from({ length: chance.between(2, 4) }, () => make(3))
  if (chance.happens(0.6)) return { _tag: "Sequence", steps }
  // A saga that has much to undo.
  const undone = Array.from({ length: chance.between(2, 4) }, (): Step => ({ _tag: "Compensated", step: activity() }))
  return { _tag: "Sequence", steps: [...undone, ...steps, { _tag: "Compensated", step: activity() }, { _tag: "Fail", name: name("fail") }] }
}

/** The value or failure that a program ends with, however often its process is killed. */
export const outcomeOf = (step: Step): Outcome => {
  switch (step._tag) {
    case "Activity":
    case "Flaky":
    case "Sleep":
    case "Await":
      return { _tag: "Value", value: step.name }
    case "Compensated":
      return outcomeOf(step.step)
    case "Sequence":
    case "Parallel": {
      const outcomes = step.steps.map(outcomeOf)
      const failed = outcomes.find(({ _tag }) => _tag === "Failure")
      return failed ?? { _tag: "Value", value: `[${outcomes.map((one) => (one._tag === "Value" ? one.value : "")).join()}]` }
    }
    case "Child": {
      const outcome = outcomeOf(step.step)
      return outcome._tag === "Failure" ? outcome : { _tag: "Value", value: `${step.name}(${outcome.value})` }
    }
    case "Caught": {
      const outcome = outcomeOf(step.step)
      return { _tag: "Value", value: outcome._tag === "Failure" ? `caught ${outcome.error}` : outcome.value }
    }
    case "Fail":
      return { _tag: "Failure", error: step.name }
  }
}

/** Whether several failures race to be the one that is reported. */
export const isAmbiguous = (step: Step): boolean => {
  switch (step._tag) {
    case "Parallel":
      return step.steps.filter((one) => outcomeOf(one)._tag === "Failure").length > 1 || step.steps.some(isAmbiguous)
    case "Sequence":
      return step.steps.some(isAmbiguous)
    case "Child":
    case "Caught":
      return isAmbiguous(step.step)
    default:
      return false
  }
}

/** Deferreds that must be completed from outside, with the path of children they are in. */
export const signalsOf = (step: Step, path = "root"): ReadonlyArray<{ readonly path: string; readonly name: string }> => {
  switch (step._tag) {
    case "Await":
      return [{ path, name: step.name }]
    case "Sequence":
    case "Parallel":
      return step.steps.flatMap((one) => signalsOf(one, path))
    case "Child":
      return signalsOf(step.step, step.name)
    case "Caught":
      return signalsOf(step.step, path)
    default:
      return []
  }
}

export const childrenOf = (step: Step): ReadonlyArray<readonly [name: string, step: Step]> => {
  switch (step._tag) {
    case "Sequence":
    case "Parallel":
      return step.steps.flatMap(childrenOf)
    case "Child":
      return [[step.name, step.step], ...childrenOf(step.step)]
    case "Caught":
      return childrenOf(step.step)
    default:
      return []
  }
}

/** Names of the activities that are undone if their execution fails. */
export const compensatedOf = (step: Step): ReadonlyArray<string> => {
  switch (step._tag) {
    case "Compensated":
      return [step.step.name]
    case "Sequence":
    case "Parallel":
      return step.steps.flatMap(compensatedOf)
    case "Child":
    case "Caught":
      return compensatedOf(step.step)
    default:
      return []
  }
}
