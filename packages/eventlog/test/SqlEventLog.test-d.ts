/** Code that must not compile, checked with the types of the tests: a line that compiles although it should not is an error there. */
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import * as EventLog from "effect/eventlog/EventLog"
import * as Schema from "effect/Schema"
import * as SqlEventLog from "../src/SqlEventLog.ts"

const primaryKey = ({ pet }: { readonly pet: string }) => pet
const Pets = EventGroup.empty
  .add({ tag: "PetCreated", primaryKey, payload: Schema.Struct({ pet: Schema.String }) })
  .add({ tag: "PetSold", primaryKey, payload: Schema.Struct({ pet: Schema.String }), success: Schema.Int })
const Visits = EventGroup.empty.add({ tag: "Visited", primaryKey: () => "door" })

const PetHandlers = EventLog.group(Pets, (handlers) =>
  handlers.handle("PetCreated", () => Effect.void).handle("PetSold", () => Effect.succeed(1)),
)
const VisitHandlers = EventLog.group(Visits, (handlers) => handlers.handle("Visited", () => Effect.void))

// @ts-expect-error a handler is missing
EventLog.group(Pets, (handlers) => handlers.handle("PetCreated", () => Effect.void))

// @ts-expect-error there is no such event
EventLog.group(Pets, (handlers) => handlers.handle("PetCloned", () => Effect.void))

EventLog.group(Pets, (handlers) =>
  handlers
    .handle("PetCreated", () => Effect.void)
    // @ts-expect-error a sale is answered with a number
    .handle("PetSold", () => Effect.succeed("sold")),
)

SqlEventLog.layer(EventLog.schema(Pets), PetHandlers, { keepLatest: ["PetCreated"] })

// @ts-expect-error the handlers of a group are missing
SqlEventLog.layer(EventLog.schema(Pets, Visits), PetHandlers)

// @ts-expect-error these are of another group
SqlEventLog.layer(EventLog.schema(Pets), VisitHandlers)

// @ts-expect-error no event of the log
SqlEventLog.layer(EventLog.schema(Pets), PetHandlers, { keepLatest: ["PetCloned"] })

// @ts-expect-error a projection says which tables it fills
SqlEventLog.layer(EventLog.schema(Pets), PetHandlers, { replay: { name: "pets", create: Effect.void } })

export const writing = Effect.gen(function* () {
  const write = yield* EventLog.makeClient(EventLog.schema(Pets))
  // @ts-expect-error its payload is missing
  yield* write("PetSold", {})
  const sold: number = yield* write({ event: "PetSold", payload: { pet: "p1" } })
  return sold
})
