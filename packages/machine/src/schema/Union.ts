/**
 * The tagged unions behind `State` and `Event`: variants, groups of variants, and the methods of all unions.
 */
import type * as Schema from "effect/Schema"
import { DefinitionError } from "./DefinitionError.ts"
import type { FieldSchema, Fields } from "./FieldSchema.ts"
import type { EffectCheck } from "./ValueCheck.ts"
import { checkName, type Group, makeVariant, type UntypedGroup, type UntypedVariant, type Value, type Variant } from "./Variant.ts"

/** Variants by name, some of them in groups. */
export interface Definitions {
  readonly [name: string]: Fields | GroupDefinition<Definitions> | ReplyDefinition<Fields, unknown>
}

/** The result of `State.group` and `Event.group`. */
export class GroupDefinition<out D, out I = unknown> {
  readonly "~group": D
  /** The name of the member at which the group is entered. */
  readonly "~initial": I
  constructor(members: D, initial: I) {
    this["~group"] = members
    this["~initial"] = initial
  }
}

/** The result of `Event.reply`. */
export class ReplyDefinition<out F, out A> {
  readonly "~fields": F
  readonly "~reply": FieldSchema
  /** The type of the answer. Types only. */
  declare readonly "~answer": A
  constructor(fields: F, reply: FieldSchema) {
    this["~fields"] = fields
    this["~reply"] = reply
  }
}

/** Marks the type of an event that expects an answer of type `A`. Types only. */
export interface Answered<out A> {
  readonly "~answer"?: () => A
}

type LeafOf<K, X> = K extends string
  ? X extends ReplyDefinition<infer F extends Fields, infer A>
    ? Variant<K, F, Value<K, F> & Answered<A>>
    : X extends Fields
      ? Variant<K, X>
      : Variant<K, Repaired<X>>
  : never

type ValueOf<K, X> = K extends string
  ? X extends GroupDefinition<infer D>
    ? UnionOf<D>
    : X extends ReplyDefinition<infer F extends Fields, infer A>
      ? Value<K, F> & Answered<A>
      : X extends Fields
        ? Value<K, X>
        : Value<K, Repaired<X>>
  : never

/** Fields where one is not a schema. It becomes `any`, so that the compiler reports one error, at the declaration. */
type Repaired<X> = { readonly [P in keyof X]: X[P] extends FieldSchema ? X[P] : Schema.Any }

/** Definitions of any kind. {@link MustBe} then reports each wrong one at its own place. */
export interface Given {
  readonly [name: string]: object
}

/** Each member must be a `Leaf` or a group. Every field of a member must be a schema. */
export type MustBe<Leaf, D> = {
  readonly [K in keyof D]: D[K] extends Leaf | GroupDefinition<unknown>
    ? unknown
    : { readonly [P in keyof D[K]]: D[K][P] extends FieldSchema ? unknown : FieldSchema }
}

/** The union of all values of all variants, nested ones too. */
export type UnionOf<D> = { [K in keyof D]: ValueOf<K, D[K]> }[keyof D]

type GroupsOf<D> = { [K in keyof D]: D[K] extends GroupDefinition<infer X> ? X : never }[keyof D]

type Flat<D> = {
  readonly [K in keyof D]: D[K] extends GroupDefinition<infer X, infer I>
    ? Group<UnionOf<X>, TagOf<UnionOf<X>>, InitialOf<X, I>> & Flat<X>
    : LeafOf<K, D[K]>
}

/** The state at which a group is entered; `false` where none is named. */
type InitialOf<D, I> = I extends keyof D ? (D[I] extends GroupDefinition<infer X, infer J> ? InitialOf<X, J> : LeafOf<I, D[I]>) : false

type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never

/** Every variant and every group under its own name, also where it is nested. */
export type Members<D> = Flat<D> & ([GroupsOf<D>] extends [never] ? unknown : Intersection<NestedMembers<GroupsOf<D>>>)

type NestedMembers<D> = D extends unknown ? Members<D> : never

export type TagOf<T> = T extends { readonly _tag: infer Tag extends string } ? Tag : never

type Cases<T extends { readonly _tag: string }> = {
  readonly [Tag in T["_tag"]]: (value: Extract<T, { readonly _tag: Tag }>) => unknown
}

type Returned<C> = C[keyof C] extends (value: never) => infer A ? A : never

type Names<D> = TagOf<UnionOf<D>> | { [K in keyof D]: D[K] extends GroupDefinition<infer X> ? K | Names<X> : never }[keyof D]

type Named<D, N> = N extends keyof D ? ValueOf<N, D[N]> : GroupsOf<D> extends infer X ? (X extends unknown ? Named<X, N> : never) : never

/** The methods of every union beside its variants. */
export interface Union<D, T extends { readonly _tag: string } = Extract<UnionOf<D>, { readonly _tag: string }>> {
  /** The type of the values. Types only. */
  readonly Type: T
  readonly $tags: ReadonlyArray<T["_tag"]>
  /** Calls the case of the value's tag. Without a value it returns the function that does so. */
  readonly $match: {
    <C extends Cases<T>>(cases: C): (value: T) => Returned<C>
    <C extends Cases<T>>(value: T, cases: C): Returned<C>
  }
  /** Whether a value is of a variant, or of any variant in a group. */
  readonly $is: <N extends Names<D> & string>(name: N) => (value: unknown) => value is Named<D, N>
}

/** The run-time side of a union. */
export interface UntypedUnion {
  readonly $tags: ReadonlyArray<string>
  readonly $variants: ReadonlyMap<string, UntypedVariant>
  /** All groups, an outer one before those inside it. */
  readonly $groups: ReadonlyMap<string, UntypedGroup>
}

/** Makes a union from its definitions. `checkEffect` checks the fields that have schemas of Effect. */
export const makeUnion = (definitions: Definitions, checkEffect: EffectCheck): UntypedUnion => {
  const variants = new Map<string, UntypedVariant>()
  const groups = new Map<string, UntypedGroup>()
  const members: Record<string, unknown> = {}

  const add = (name: string, member: unknown) => {
    if (Object.hasOwn(members, name)) {
      throw new DefinitionError({
        problem: `the name ${name} is declared twice`,
        nextStep: "give each state, event and group a name of its own, also across groups",
      })
    }
    members[name] = member
  }

  const addAll = (definitions: Definitions): Array<string> =>
    Object.entries(definitions).flatMap(([name, definition]) => {
      if (definition instanceof GroupDefinition) {
        checkName(name)
        const group: Record<string, unknown> = {}
        add(name, group)
        groups.set(name, undefined as never) // keeps an outer group before its inner ones
        const inside = definition["~group"]
        const tags = addAll(inside)
        const names = Object.keys(inside)
        for (const inner of names) group[inner] = members[inner]
        const initial = initialOf(name, group, definition["~initial"])
        Object.assign(group, { group: name, tag: tags.join(" | "), tags, members: names, is: isOneOf(new Set(tags)), "~initial": initial })
        groups.set(name, group as unknown as UntypedGroup)
        return tags
      }
      const variant =
        definition instanceof ReplyDefinition
          ? makeVariant(name, definition["~fields"], checkEffect, definition["~reply"])
          : makeVariant(name, definition, checkEffect)
      add(name, variant)
      variants.set(name, variant)
      return [name]
    })

  const tags = addAll(definitions)

  const $match = (
    ...args: [Record<string, (value: unknown) => unknown>] | [{ readonly _tag: string }, Record<string, (value: unknown) => unknown>]
  ) => {
    const run = (value: { readonly _tag: string }, cases: Record<string, (value: unknown) => unknown>) => {
      const matched = cases[value._tag]
      if (matched === undefined) throw new DefinitionError({ problem: `no case matches ${value._tag}`, nextStep: "add it" })
      return matched(value)
    }
    return args.length === 1 ? (value: { readonly _tag: string }) => run(value, args[0]) : run(args[0], args[1])
  }
  const $is = (name: string) => {
    const named = groups.get(name) ?? variants.get(name)
    if (named === undefined)
      throw new DefinitionError({
        problem: `${name} names no variant and no group`,
        nextStep: `use one of ${Object.keys(members).join(", ")}`,
      })
    return isOneOf(new Set(named.tags))
  }

  return Object.assign(members, { $tags: tags, $variants: variants, $groups: groups, $match, $is }) as never
}

/** The state at which a group is entered; `false` where the group names no member for it. */
const initialOf = (group: string, members: Record<string, unknown>, initial: unknown) => {
  if (initial === undefined) return false
  const member = (Object.hasOwn(members, initial as string) ? members[initial as string] : undefined) as
    | { readonly tags: ReadonlyArray<string>; readonly "~initial"?: unknown }
    | undefined
  if (member === undefined)
    throw new DefinitionError({ problem: `${String(initial)} is not a member of ${group}`, nextStep: "name one of its members as initial" })
  if (member["~initial"] === false)
    throw new DefinitionError({
      problem: `${String(initial)}, the initial member of ${group}, is a group that names none itself`,
      nextStep: `pass { initial: "..." } to the group ${String(initial)} too`,
    })
  return member["~initial"] ?? member
}

const isOneOf = (tags: ReadonlySet<string>) => (value: unknown) =>
  typeof value === "object" && value !== null && "_tag" in value && tags.has(value._tag as string)
