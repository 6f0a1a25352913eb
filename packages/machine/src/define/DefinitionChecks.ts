/** What the compiler refuses of a definition by type is refused here by name, for callers in plain JavaScript. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { durationMillis } from "../decide/Timeout.ts"
import { DefinitionError, describe } from "../MachineError.ts"
import { at, type Decide, type Options } from "./BuilderArguments.ts"
import type { Declarations, Place, TargetDeclaration } from "./Declarations.ts"

export const fail = (declarations: Declarations, problem: string, nextStep: string): never => {
  throw new DefinitionError({ machine: declarations.name, problem, nextStep })
}

/** Refuses a constant duration that cannot be waited for. `Infinity` is one that never passes. */
export const checkDuration = (machine: string, what: string, duration: Duration.Input) => {
  const refuse = (problem: string, nextStep: string): never => {
    throw new DefinitionError({ machine, problem, nextStep })
  }
  if (Option.isNone(Duration.fromInput(duration))) {
    refuse(`${JSON.stringify(duration)} is no duration`, 'write it like "30 minutes" or in milliseconds')
  }
  let millis: number
  try {
    millis = durationMillis(duration)
  } catch (cause) {
    return refuse(`${what} has ${describe(cause)}`, 'write it like "30 minutes"')
  }
  if (millis < 0) refuse(`${what} has a duration of ${millis} ms`, "give 0 or more")
}

/** Whether it is clear what the transition leads to, with all its fields. */
export const checkDecidable = (
  declarations: Declarations,
  from: string,
  event: string,
  targets: ReadonlyArray<TargetDeclaration>,
  decide: Decide | undefined,
) => {
  if (decide !== undefined) return
  if (targets.length !== 1) {
    fail(declarations, `${from} × ${event} has ${targets.length} targets and no decision`, "pass a function that chooses one of them")
  }
  checkCarried(declarations, from, event, targets[0]?.tag)
  if (declarations.event.$variants.get(event)?.reply !== undefined) {
    fail(declarations, `${from} × ${event} does not answer, but ${event} wants a reply`, "pass a decision that returns reply(...)")
  }
}

const checkCarried = (declarations: Declarations, from: string, event: string, target: string | undefined) => {
  const { $variants } = declarations.state
  const fields = $variants.get(target ?? "")?.fields
  if (fields === undefined) return
  const sources = from === "*" ? [...$variants.values()].filter(({ tag }) => !declarations.finals.has(tag)) : [$variants.get(from)]
  const given = declarations.event.$variants.get(event)?.fields ?? {}
  for (const source of sources) {
    const missing = Object.entries(fields)
      .filter(([name, schema]) => !isOptional(schema) && !Object.hasOwn(given, name) && !Object.hasOwn(source?.fields ?? {}, name))
      .map(([name]) => name)
    if (missing.length > 0) {
      fail(
        declarations,
        `${source?.tag} × ${event} → ${target}: nothing gives ${missing.join(", ")}`,
        "pass a decision that makes the target, or let the event carry the fields",
      )
    }
  }
}

const isOptional = (schema: Schema.Constraint): boolean => schema.ast.context?.isOptional === true

/** A transition as it is about to be declared. */
interface Declared {
  readonly label: string
  readonly earlier: { readonly place: Place } | undefined
  readonly options: Options
  readonly place: Place
  readonly nextStep?: string
}

/** Whether it is the first of its kind, or says that it replaces the first. */
export const checkNew = (declarations: Declarations, { label, earlier, options, place, nextStep }: Declared) => {
  checkOptions(declarations, options)
  if (options.override === true && earlier === undefined)
    fail(declarations, `${label} overrides nothing${at(place)}`, "remove { override: true }")
  if (options.override !== true && earlier !== undefined) {
    fail(
      declarations,
      `${label} is declared twice: first${at(earlier.place)}, again${at(place)}`,
      nextStep ?? "remove one, or pass { override: true } to the second",
    )
  }
}

const knownOptions = new Set(["override", "guard", "guardName", "description", "name", "idle"])

/** A misspelt option would be ignored in silence. */
const checkOptions = (declarations: Declarations, options: Options) => {
  const unknown = Object.keys(options).filter((name) => !knownOptions.has(name))
  if (unknown.length > 0)
    fail(declarations, `${unknown.join(", ")} is no option of a transition`, `the options are ${[...knownOptions].join(", ")}`)
}

export const checkNotFinal = (declarations: Declarations, tag: string) => {
  if (declarations.finals.has(tag))
    fail(declarations, `${tag} is final and cannot have a transition`, "remove the transition or the final mark")
}
