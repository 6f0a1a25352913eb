/** Types of machines as JSON. They read the type of a machine by its shape: neither this package nor a page loads one. */

/** Any machine of `@detent/machine`. */
export interface AnyMachine {
  readonly "~types": { readonly state: unknown; readonly event: unknown; readonly input: (input: never) => void }
}

type Simple = string | number | boolean | null | undefined

/** A value as JSON has it: a `Date` is a text. */
export type Json<T> = unknown extends T
  ? T
  : T extends Simple
    ? T
    : T extends bigint
      ? string
      : T extends { readonly epochMilliseconds: number }
        ? string
        : T extends { toJSON(): infer J }
          ? Json<J>
          : T extends ReadonlyArray<unknown>
            ? { readonly [K in keyof T]: Json<T[K]> }
            : { readonly [K in keyof T as K extends `~${string}` ? never : K]: Json<T[K]> }

type TypesOf<M> = M extends { readonly "~types": infer T } ? T : never

/** The states of a machine. */
export type StateOf<M> = TypesOf<M> extends { readonly state: infer S } ? Json<S> : never

/** The events of a machine. */
export type EventOf<M> = TypesOf<M> extends { readonly event: infer E } ? Json<E> : never

/** The input of a new instance; undefined where it needs none. */
export type InputOf<M> =
  TypesOf<M> extends { readonly input: (input: infer I) => void } ? ([I] extends [void] ? undefined : Json<I>) : never

/** The types of the indexed fields of a machine. */
export type IndexesOf<M> = M extends { readonly "~indexes": infer X } ? X : Record<never, never>

type TagOf<E> = E extends { readonly _tag: infer Tag } ? Tag : never

type Questions<E> = E extends { readonly "~answer"?: (() => infer A) | undefined; readonly _tag: infer Tag }
  ? { readonly _tag: Tag; readonly answer: Json<A> }
  : never

type QuestionsOf<M> =
  TypesOf<M> extends { readonly event: infer E } ? (E extends { readonly "~answer"?: unknown } ? Questions<E> : never) : never

/** The answer to a question: an event that was declared with `Event.reply`. */
export type AnswerOf<M, E> = Extract<QuestionsOf<M>, { readonly _tag: TagOf<E> }> extends { readonly answer: infer A } ? A : never

/** The events that have an answer. */
export type QuestionOf<M> = EventOf<M> extends infer E ? (E extends { readonly _tag: QuestionsOf<M>["_tag"] } ? E : never) : never
