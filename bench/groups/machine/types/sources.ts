/**
 * The same machine written for both libraries: ten states of which the last is final; in each of the others one event that
 * is guarded, leads on and updates two fields, and one that cancels and updates a field; an actor, and one event sent to it.
 */
const states = Array.from({ length: 10 }, (_, index) => `S${index}`)
const leading = states.slice(0, -1)

export const detentSource = (name: string): string => `import { Event, Machine, spawn, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const data = { id: Schema.String, amount: Schema.Number, note: Schema.String }
const S = State({ ${states.map((state) => `${state}: data`).join(", ")} })
const E = Event({
${leading.map((_, index) => `  E${index}: { value: Schema.Number, note: Schema.String },`).join("\n")}
  Cancel: { note: Schema.String },
})

export const ${name} = Machine.make({ name: "${name}", state: S, event: E, initial: S.S0({ id: "1", amount: 1, note: "" }) })
${leading
  .map(
    (state, index) => `  .on(
    S.${state},
    E.E${index},
    S.S${index + 1},
    ({ state, event }) => S.S${index + 1}.derive(state, { amount: state.amount + event.value, note: event.note }),
    { guard: ({ event }) => event.value > 0 },
  )
  .on(S.${state}, E.Cancel, S.S9)`,
  )
  .join("\n")}
  .final(S.S9)

export const sent = Effect.flatMap(spawn(${name}), (actor) => actor.send(E.E0({ value: 1, note: "" })))
`

export const xstateSource = (name: string): string => `import { assign, createActor, setup } from "xstate"

export const ${name} = setup({
  types: {} as {
    context: { id: string; amount: number; note: string }
    events:
${leading.map((_, index) => `      | { type: "E${index}"; value: number; note: string }`).join("\n")}
      | { type: "Cancel"; note: string }
  },
}).createMachine({
  id: "${name}",
  context: { id: "1", amount: 1, note: "" },
  initial: "S0",
  states: {
${leading
  .map(
    (state, index) => `    ${state}: {
      on: {
        E${index}: {
          target: "S${index + 1}",
          guard: ({ event }) => event.value > 0,
          actions: assign({ amount: ({ context, event }) => context.amount + event.value, note: ({ event }) => event.note }),
        },
        Cancel: { target: "S9", actions: assign({ note: ({ event }) => event.note }) },
      },
    },`,
  )
  .join("\n")}
    S9: { type: "final" },
  },
})

export const actor = createActor(${name}).start()
actor.send({ type: "E0", value: 1, note: "" })
`
