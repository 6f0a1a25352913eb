import type * as Arr from "effect/Array"

/** Rows that the caller knows to be some. */
export const atLeastOne = <A>(rows: ReadonlyArray<A>): Arr.NonEmptyReadonlyArray<A> => rows as Arr.NonEmptyReadonlyArray<A>
