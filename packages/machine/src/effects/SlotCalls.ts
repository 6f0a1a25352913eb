/** How slots look from inside a decision: guards are asked, effects are requested. */
import * as Effect from "effect/Effect"
import type { Declarations } from "../define/Declarations.ts"
import { DefinitionError } from "../MachineError.ts"

/** What a slot call is recorded in. */
export interface Recorder {
  askGuard(name: string, answer: () => boolean): boolean
  request(slot: string, parameters: object): void
}

/** Makes the object of slots for one decision. */
export type SlotCalls = (recorder: Recorder) => object

const recorderKey = Symbol("recorder")

interface Bound {
  readonly [recorderKey]: Recorder
}

/** Slots are getters on one prototype per machine, so that a decision which uses none pays for none. */
const slotCalls = (calls: { readonly [name: string]: (recorder: Recorder) => unknown }): SlotCalls => {
  const prototype = {}
  for (const [name, call] of Object.entries(calls)) {
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get(this: Bound) {
        return call(this[recorderKey])
      },
    })
  }
  return (recorder) => Object.create(prototype, { [recorderKey]: { value: recorder } })
}

export const guardCalls = ({ name: machine, guardSlots, handlers }: Declarations): SlotCalls =>
  slotCalls(
    Object.fromEntries(
      Object.keys(guardSlots).map((name) => [
        name,
        (recorder) =>
          (parameters: object = {}) =>
            recorder.askGuard(name, () => {
              const handler = handlers?.[name]
              if (handler === undefined) throw unbuilt(machine, name)
              return handler(parameters, recorder) === true
            }),
      ]),
    ),
  )

export const effectCalls = ({ effectSlots }: Declarations): SlotCalls =>
  slotCalls(
    Object.fromEntries(
      Object.keys(effectSlots).map((name) => [
        name,
        (recorder) =>
          (parameters: object = {}) =>
            recorder.request(name, parameters),
      ]),
    ),
  )

/** What an effect slot's handler returned, if it is an Effect. A Promise is the usual mistake. */
export const asEffect = (machine: string, slot: string, returned: unknown): Effect.Effect<unknown, unknown, unknown> => {
  if (Effect.isEffect(returned)) return returned as Effect.Effect<unknown, unknown, unknown>
  if (returned instanceof Promise) returned.catch(() => undefined) // its failure is reported below, with what to do about it
  const what = returned instanceof Promise ? "a Promise" : String(returned)
  return Effect.die(
    new DefinitionError({
      machine,
      problem: `the handler of ${slot} returned ${what}`,
      nextStep: "return an Effect; Effect.promise(() => ...) makes one of a Promise",
    }),
  )
}

export const unbuilt = (machine: string, slot: string) =>
  new DefinitionError({
    machine,
    problem: `the slot ${slot} has no implementation`,
    nextStep: "call build({ ... }) before running the machine",
  })
