/** Machines of many states. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

type Chained = Readonly<Record<string, unknown>>
interface Growing {
  readonly on: (from: unknown, event: unknown, to: unknown) => Growing
}

/** A machine of so many states, of which each leads to `width` others. */
export const meshOf = (name: string, size: number, width: number) => {
  const names = Array.from({ length: size }, (_, at) => `Step${at}`)
  const state = State(Object.fromEntries(names.map((one) => [one, { round: Schema.Int }])))
  const event = Event(Object.fromEntries(Array.from({ length: width }, (_, at) => [`Go${at}`, {}])))
  const first = (state as unknown as Record<string, (fields: { readonly round: number }) => never>)["Step0"]
  let machine = Machine.make({ name, state, event, initial: first?.({ round: 0 }) as never }) as never as Growing
  for (let at = 0; at < size; at++)
    for (let way = 0; way < width; way++)
      machine = machine.on(
        (state as Chained)[`Step${at}`],
        (event as unknown as Chained)[`Go${way}`],
        (state as Chained)[`Step${(at * (way + 2) + 7 * way + 1) % size}`],
      )
  return machine as never
}
