/**
 * A variant is one member of a tagged union: one state or one event. It is the constructor of its values and
 * has their schema, used to check, store and generate them.
 */
import { DefinitionError } from "./DefinitionError.ts"
import { type FieldSchema, type Fields, type FieldsType, isFieldSchema, isStandardSchema, type TypeOf } from "./FieldSchema.ts"
import { unmarked } from "./Sensitive.ts"
import { unstorablePlace } from "./Unstorable.ts"
import { type EffectCheck, type ValueCheck, valueCheck } from "./ValueCheck.ts"

/** A value of some variant. */
export interface Tagged {
  readonly _tag: string
}

/** Fields that may be left out or changed, and those of other libraries than Effect. */
type Special<F> = {
  [K in keyof F]: F[K] extends
    | { readonly "~type.optionality": "optional" }
    | { readonly "~type.mutability": "mutable" }
    | { readonly "~standard": unknown }
    ? K
    : never
}[keyof F]

/** The value of a variant: its fields and its tag. Where no field is special it is one mapped type, which is cheap to compare. */
export type Value<Tag extends string, F extends Fields> = [Special<F>] extends [never]
  ? { readonly [K in keyof F | "_tag"]: K extends keyof F ? TypeOf<F[K]> : Tag }
  : { readonly _tag: Tag } & FieldsType<F>

/** A variant, or a group of variants, as the source of a transition. */
export interface Source<out T> {
  readonly Type: T
  readonly tag: string
  readonly tags: ReadonlyArray<string>
}

/** Fields of `Target` that `Given` does not provide with a fitting type. */
export type Missing<Given, Target> = {
  [K in keyof Target]-?: K extends keyof Given ? (Given[K] extends Target[K] ? never : K) : undefined extends Target[K] ? never : K
}[keyof Target]

type Arguments<T> = Record<never, never> extends T ? [fields?: T] : [fields: T]

type Overrides<Given, Target> = [Missing<Given, Target>] extends [never]
  ? [overrides?: Partial<Target>]
  : [overrides: Pick<Target, Missing<Given, Target>> & Partial<Target>]

/** One state or event: call it with its fields to make a value. */
export interface Variant<Tag extends string, F extends Fields, T = Value<Tag, F>> extends Source<T> {
  (...fields: Arguments<FieldsType<F>>): T
  readonly tag: Tag
  readonly fields: F
  /** A value with the fields of this variant that `source` has, and with `overrides`. */
  derive<Given extends object>(source: Given, ...overrides: Overrides<Given, FieldsType<F>>): T
  readonly is: (value: unknown) => value is T
}

/** The state that a group is entered at. */
export interface Initial {
  readonly Type: unknown
  readonly tag: string
}

/** Several variants under one name. Values are always of a leaf, never of the group itself. */
export interface Group<T, Tag extends string, I = unknown> extends Source<T> {
  readonly group: string
  readonly tag: Tag
  /** The state at which it is entered as a target; `false` where none is named. */
  readonly "~initial": I
  readonly is: (value: unknown) => value is T
}

/** The run-time side of {@link Variant}, before its types are known. */
export interface UntypedVariant {
  (fields?: object): { readonly _tag: string }
  readonly tag: string
  readonly tags: ReadonlyArray<string>
  readonly fields: Fields
  readonly fieldNames: ReadonlyArray<string>
  /** The schema of the answer to a question. */
  readonly reply: FieldSchema | undefined
  readonly check: ValueCheck
  readonly derive: (source: object, overrides?: object) => { readonly _tag: string }
  readonly is: (value: unknown) => boolean
}

/** The run-time side of {@link Group}. */
export interface UntypedGroup {
  readonly group: string
  readonly tag: string
  readonly tags: ReadonlyArray<string>
  /** Names of the leaves and groups directly inside. */
  readonly members: ReadonlyArray<string>
  readonly "~initial": { readonly tag: string } | false
}

const reservedNames = new Set(["Type", "__proto__", "constructor", "prototype"])

/** Refuses names that collide with the properties of every union or of JavaScript objects. */
export const checkName = (name: string) => {
  if (!reservedNames.has(name) && !name.startsWith("$") && !name.startsWith("@") && name !== "") return
  throw new DefinitionError({
    problem: `${JSON.stringify(name)} cannot name a state, an event or a group`,
    nextStep: "choose a name that is not empty, is none of Type, constructor, prototype, and starts with neither $ nor @",
  })
}

/** Refuses what is no schema, and schemas whose values cannot be stored as JSON and read back equal. */
export const checkSchema = (schema: unknown, where: string) => {
  if (!isFieldSchema(schema)) {
    throw new DefinitionError({
      problem: `${where} has no schema`,
      nextStep: "give it one of Effect, such as Schema.String, or of a library with Standard Schema, such as z.string()",
    })
  }
  if (!isStandardSchema(schema)) return
  const unstorable = unstorablePlace(unmarked(schema))
  if (unstorable === undefined) return
  const { path, what, nextStep } = unstorable
  throw new DefinitionError({
    problem: `${path.length === 0 ? where : `${path.join(".")} in ${where}`} is ${what}; it cannot be stored as JSON and read back equal`,
    nextStep,
  })
}

/** Makes the constructor of one variant. */
export const makeVariant = (tag: string, fields: Fields, checkEffect: EffectCheck, reply?: FieldSchema): UntypedVariant => {
  checkName(tag)
  for (const name of ["_tag", "__proto__"]) {
    if (!Object.hasOwn(fields, name)) continue
    throw new DefinitionError({ problem: `${tag} declares a field named ${name}, which is reserved`, nextStep: "rename the field" })
  }
  const fieldNames = Object.keys(fields)
  for (const name of fieldNames) checkSchema(fields[name], `the field ${name} of ${tag}`)
  if (reply !== undefined) checkSchema(reply, `the answer to ${tag}`)
  const check = valueCheck(tag, fields, checkEffect)
  const derive = (source: object, overrides?: object) => {
    const value: Record<string, unknown> = { _tag: tag }
    for (const name of fieldNames) {
      const from = overrides !== undefined && Object.hasOwn(overrides, name) ? overrides : source
      if (Object.hasOwn(from, name)) value[name] = from[name as keyof typeof from]
    }
    return value as { readonly _tag: string }
  }
  // A state passed as fields, as in S.Paid(state), has another tag and may have more fields.
  const variant = (given?: object) => (given !== undefined && "_tag" in given ? derive(given) : { _tag: tag, ...given })
  const is = (value: unknown) =>
    typeof value === "object" && value !== null && "_tag" in value && value._tag === tag && check(value) === undefined
  Object.defineProperty(variant, "name", { value: tag })
  return Object.assign(variant, {
    tag,
    tags: [tag],
    fields,
    fieldNames,
    reply,
    check,
    derive,
    is,
  })
}
