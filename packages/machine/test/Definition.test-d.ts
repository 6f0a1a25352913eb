// @effect-diagnostics floatingEffect:off missingReturnYieldStar:off missingEffectContext:off
// Nothing here runs: the lines are there for the type checker to accept or refuse.
/** What the compiler must refuse, and what it must know. Each refusal names the reason in the error's text. */
import { Event, history, type Machine as M, Machine, refuse, reply, Slot, State, spawn, stay, stop } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_T extends true>() => undefined

const S = State({
  Pending: { orderId: Schema.String, total: Schema.Number },
  Awaiting: { orderId: Schema.String, total: Schema.Number },
  Fulfilling: State.group({
    Picking: { orderId: Schema.String },
    Leaving: State.group({ Packing: { orderId: Schema.String }, Shipping: { orderId: Schema.String, carrier: Schema.String } }),
  }),
  Paid: { orderId: Schema.String, total: Schema.Number, transactionId: Schema.String },
  Cancelled: { orderId: Schema.String, reason: Schema.String },
  Odd: { orderId: Schema.Number },
  Noted: { orderId: Schema.String, note: Schema.optionalKey(Schema.String) },
})
const E = Event({
  Request: {},
  Pay: { transactionId: Schema.String },
  Cancel: { reason: Schema.String },
  Input: Event.group({ Click: {}, Tap: {} }),
  GetTotal: Event.reply({}, Schema.Number),
})
const Foreign = State({ Elsewhere: {} })
const ForeignEvent = Event({ Unheard: { loud: Schema.Boolean } })
const start = S.Pending({ orderId: "1", total: 3 })
const base = Machine.make({ name: "order", state: S, event: E, initial: start })

// States and events
S.Pending({ orderId: "1", total: 3 })
// @ts-expect-error a field is missing
S.Pending({ orderId: "1" })
// @ts-expect-error a field has the wrong type
S.Pending({ orderId: 1, total: 3 })
E.Request()
const narrowed: { readonly _tag: "Picking"; readonly orderId: string } = S.Fulfilling.Picking({ orderId: "1" })
S.Picking(narrowed)
S.Packing({ orderId: "1" })
// @ts-expect-error a group is not a state
S.Fulfilling({ orderId: "1" })
S.Cancelled.derive(start, { reason: "late" })
// @ts-expect-error derive needs what the source lacks
S.Cancelled.derive(start)
// @ts-expect-error derive refuses an override of the wrong type
S.Paid.derive(start, { transactionId: 1 })
const tags = S.$match({
  Pending: (state) => state.total,
  Awaiting: (state) => state.total,
  Picking: () => "picking",
  Packing: () => "packing",
  Shipping: (state) => state.carrier,
  Paid: () => "paid",
  Cancelled: (state) => state.reason,
  Odd: () => "odd",
  Noted: () => "noted",
})(start)
holds<Equal<typeof tags, string | number>>()
// @ts-expect-error a case is missing
S.$match({ Pending: () => 1 })
declare const anything: unknown
if (S.$is("Leaving")(anything)) holds<Equal<typeof anything._tag, "Packing" | "Shipping">>()
// @ts-expect-error no such name
S.$is("Nowhere")

// 6 the same pair twice, also through lists and groups
base.on(S.Pending, E.Request, S.Awaiting).on(S.Awaiting, E.Request, S.Awaiting)
// @ts-expect-error Pending × Request is already declared
base.on(S.Pending, E.Request, S.Awaiting).on(S.Pending, E.Request, S.Awaiting)
// @ts-expect-error already declared, with a decision
base.on(S.Pending, E.Request, S.Awaiting).on(S.Pending, E.Request, S.Pending, ({ state }) => state)
// @ts-expect-error already declared, through a list
base.on(S.Pending, E.Cancel, S.Cancelled).on([S.Awaiting, S.Pending], E.Cancel, S.Cancelled)
// @ts-expect-error already declared, through a group
base.on(S.Packing, E.Cancel, S.Cancelled).on(S.Fulfilling, E.Cancel, S.Cancelled)
// @ts-expect-error already declared, through a group of events
base.on(S.Pending, E.Tap, stay).on(S.Pending, E.Input, stay)
// @ts-expect-error already declared, as postponed
base.on(S.Pending, E.Tap, stay).postpone(S.Pending, E.Tap)
// @ts-expect-error already declared, as a timeout
base.timeout(S.Pending, "1 minute", stay).timeout(S.Pending, "2 minutes", stay)
base.timeout(S.Pending, "1 minute", stay).timeout(S.Pending, "2 minutes", stay, { name: "second" })
// @ts-expect-error a fallback twice
base.onAny(E.Tap, stay).onAny(E.Tap, stay)
// 7 and 8 overriding
base.on(S.Fulfilling, E.Cancel, S.Cancelled).on(S.Packing, E.Cancel, stay, { override: true })
base.on(S.Fulfilling, E.Cancel, S.Cancelled).on(S.Packing, E.Cancel, [S.Cancelled, stay], () => stay, { override: true })
// @ts-expect-error nothing to override
base.on(S.Packing, E.Cancel, stay, { override: true })
// @ts-expect-error nothing to override, with a decision
base.on(S.Packing, E.Cancel, stay, () => stay, { override: true })

// 10 final states
// @ts-expect-error Cancelled is final
base.final(S.Cancelled).on(S.Cancelled, E.Request, S.Cancelled)
// @ts-expect-error Pending has a transition
base.on(S.Pending, E.Tap, stay).final(S.Pending)

// 11 fields carried
base.on(S.Awaiting, E.Pay, S.Paid)
base.on(S.Pending, E.Request, S.Noted)
// @ts-expect-error transactionId is neither carried nor given
base.on(S.Awaiting, E.Request, S.Paid)
// @ts-expect-error orderId is carried with the wrong type
base.on(S.Odd, E.Cancel, S.Cancelled)
// @ts-expect-error one of the sources does not carry total
base.on([S.Pending, S.Picking], E.Request, S.Awaiting)
// @ts-expect-error not even a timeout invents fields
base.timeout(S.Awaiting, "1 minute", S.Paid)

// Decisions and their targets
base.on(S.Pending, E.Pay, [S.Paid, S.Cancelled], ({ state, event }) =>
  state.total > 0 ? S.Paid({ ...state, transactionId: event.transactionId }) : S.Cancelled.derive(state, { reason: "free" }),
)
base.on(S.Pending, E.Pay, S.Paid, () => refuse("not today"))
// @ts-expect-error Awaiting is not listed
base.on(S.Pending, E.Pay, S.Paid, ({ state }) => S.Awaiting(state))
// @ts-expect-error stay is not listed
base.on(S.Pending, E.Pay, S.Paid, () => stay)
// @ts-expect-error stop is not listed
base.on(S.Pending, E.Pay, S.Paid, () => stop("no"))
// @ts-expect-error a list of targets needs a decision
base.on(S.Pending, E.Request, [S.Awaiting, S.Cancelled])
// @ts-expect-error a group cannot be a target
base.on(S.Pending, E.Request, S.Fulfilling)
// @ts-expect-error not a state of this machine
base.on(Foreign.Elsewhere, E.Request, stay)
// @ts-expect-error not an event of this machine
base.on(S.Pending, ForeignEvent.Unheard, stay)
// @ts-expect-error not a target of this machine
base.on(S.Pending, E.Request, Foreign.Elsewhere)

// 14 questions are answered
base.on(S.Pending, E.GetTotal, stay, ({ state }) => reply(state.total))
base.on(S.Pending, E.GetTotal, S.Awaiting, ({ state }) => reply(state.total, S.Awaiting(state)))
// @ts-expect-error no answer
base.on(S.Pending, E.GetTotal, stay)
// @ts-expect-error a decision without an answer
base.on(S.Pending, E.GetTotal, stay, () => stay)
// @ts-expect-error an answer of the wrong type
base.on(S.Pending, E.GetTotal, stay, () => reply("three"))

// Several events or states at once: each pair must hold
const Mixed = Event({
  Set: { total: Schema.String },
  Go: {},
  AskNumber: Event.reply({}, Schema.Number),
  AskText: Event.reply({}, Schema.String),
})
const mixed = Machine.make({ name: "mixed", state: S, event: Mixed, initial: start })
// @ts-expect-error one of the events carries total with the wrong type
mixed.on(S.Pending, [Mixed.Set, Mixed.Go], S.Awaiting)
// @ts-expect-error reentering would take total from the event
mixed.reenter(S.Pending, Mixed.Set)
// @ts-expect-error one of the events wants an answer
mixed.on(S.Pending, [Mixed.AskNumber, Mixed.Go], stay)
// @ts-expect-error one of the events wants an answer, and this is none
mixed.on(S.Pending, [Mixed.AskNumber, Mixed.Go], S.Awaiting, ({ state }) => S.Awaiting(state))
// @ts-expect-error reentering does not answer
mixed.reenter(S.Pending, Mixed.AskNumber)
mixed.reenter([S.Pending, S.Awaiting], Mixed.Go, ({ state }) => ({ ...state, total: 0 }))
mixed.reenter([S.Pending, S.Awaiting], Mixed.Go, ({ state }) =>
  state._tag === "Pending" ? S.Pending({ ...state, total: 0 }) : S.Awaiting({ ...state, total: 1 }),
)
mixed.reenter(S.Pending, Mixed.Go, ({ state }) => Effect.succeed(S.Pending({ ...state, total: 0 })))
mixed.reenter([S.Pending, S.Awaiting], Mixed.Go, ({ state }) => Effect.succeed(state))
mixed.reenter([S.Pending, S.Awaiting], Mixed.AskNumber, ({ state }) => reply(1, state))
// @ts-expect-error Awaiting is not entered again: it would become Pending
mixed.reenter([S.Pending, S.Awaiting], Mixed.Go, ({ state }) => S.Pending({ orderId: state.orderId, total: 0 }))
// @ts-expect-error the same, of an Effect
mixed.reenter([S.Pending, S.Awaiting], Mixed.Go, ({ state }) => Effect.succeed(S.Pending({ orderId: state.orderId, total: 0 })))
// @ts-expect-error the same, of a group
mixed.reenter(S.Fulfilling, Mixed.Go, ({ state }) => S.Picking({ orderId: state.orderId }))
// @ts-expect-error no value is a number and a text
mixed.on(S.Pending, [Mixed.AskNumber, Mixed.AskText], stay, () => reply("x"))
// @ts-expect-error an automatic transition leads out of a final state
base.final(S.Cancelled).always(S.Cancelled, () => true, S.Cancelled)
// @ts-expect-error a state with an automatic transition is not final
base.always(S.Pending, () => true, S.Awaiting).final(S.Pending)

// Total machines
base
  .on(S.Pending, E.Request, stay)
  .on(S.Pending, [E.Pay, E.Cancel], stay)
  .onAny(E.Input, stay)
  .on(S.Pending, E.GetTotal, stay, () => reply(1))
  .total()
// @ts-expect-error nothing handles GetTotal
base.on(S.Pending, E.Request, stay).on(S.Pending, [E.Pay, E.Cancel], stay).onAny(E.Input, stay).total()

// What a machine knows of itself
const Order = base
  .on(S.Pending, E.Request, S.Awaiting)
  .on(S.Awaiting, E.Pay, S.Paid)
  .on([S.Pending, S.Awaiting], E.Cancel, S.Cancelled)
  .on(S.Paid, E.Request, [S.Picking, S.Cancelled, stay], () => stay)
  .onAny(E.Tap, stay)
  .final(S.Cancelled)
type Order = typeof Order
holds<Equal<M.ValidTransition<Order, "Awaiting", "Pay">, true>>()
holds<Equal<M.ValidTransition<Order, "Pending", "Pay">, false>>()
holds<Equal<M.ValidTransition<Order, "Pending", "Tap">, true>>()
holds<Equal<M.TargetOf<Order, "Awaiting", "Pay">, "Paid">>()
holds<Equal<M.TargetOf<Order, "Pending", "Pay">, never>>()
holds<Equal<M.TargetOf<Order, "Paid", "Request">, "Picking" | "Cancelled" | "Paid">>()
holds<Equal<M.EventsIn<Order, "Awaiting">["_tag"], "Pay" | "Cancel" | "Tap">>()
// @ts-expect-error no such state
type _NoState = M.TargetOf<Order, "Nowhere", "Pay">
const overridden = base.on(S.Fulfilling, E.Cancel, S.Cancelled).on(S.Packing, E.Cancel, stay, { override: true })
holds<Equal<M.TargetOf<typeof overridden, "Packing", "Cancel">, "Packing">>()
holds<Equal<M.TargetOf<typeof overridden, "Picking", "Cancel">, "Cancelled">>()

holds<Equal<M.ValidTransition<Order, "Cancelled", "Tap">, false>>()
const postponing = base.onAny(E.Tap, stay).postpone(S.Pending, E.Tap)
holds<Equal<M.TargetOf<typeof postponing, "Pending", "Tap">, never>>()
holds<Equal<M.TargetOf<typeof postponing, "Awaiting", "Tap">, "Awaiting">>()

// Deciding and sending
Machine.decide(Order, start, E.Request())
// @ts-expect-error a foreign event
Machine.decide(Order, start, ForeignEvent.Unheard({ loud: true }))
// @ts-expect-error a foreign state
Machine.decide(Order, Foreign.Elsewhere(), E.Request())
Effect.gen(function* () {
  const order = yield* spawn(Order)
  yield* order.send(E.Request())
  // @ts-expect-error a foreign event
  yield* order.send(ForeignEvent.Unheard({ loud: true }))
  const total: number = yield* order.ask(E.GetTotal())
  // @ts-expect-error only questions can be asked
  yield* order.ask(E.Request())
  return total
})

// Input
const fromInput = Machine.make({
  name: "order",
  state: S,
  event: E,
  initial: (input: { id: string }) => S.Pending({ orderId: input.id, total: 0 }),
})
spawn(fromInput, { id: "7" })
spawn(fromInput, start)
// @ts-expect-error input is needed
spawn(fromInput)
// @ts-expect-error input has the wrong shape
spawn(fromInput, { id: 7 })
const fromVariant = Machine.make({ name: "order", state: S, event: E, initial: S.Pending })
spawn(fromVariant, { orderId: "7", total: 1 })

// Slots
interface Bank {
  readonly charge: (amount: number) => Effect.Effect<void>
}
declare const Bank: Context.Key<"Bank", Bank>
const guards = Slot.Guards({ inStock: { orderId: Schema.String }, open: {} })
const effects = Slot.Effects({
  charge: { amount: Schema.Number },
  pick: Slot.effect({ orderId: Schema.String }, { success: Schema.Number, failure: Schema.String }),
})
const slotted = Machine.make({ name: "order", state: S, event: E, guards, effects, initial: start })
  .on(S.Pending, E.Request, [S.Awaiting, stay], ({ state, guards, effects }) => {
    effects.charge({ amount: state.total })
    return guards.open() && guards.inStock({ orderId: state.orderId }) ? S.Awaiting(state) : stay
  })
  .task(S.Awaiting, ({ state, effects }) => effects.pick({ orderId: state.orderId }), {
    onSuccess: (count) => E.Pay({ transactionId: count.toFixed() }),
    onFailure: (error) => E.Cancel({ reason: error.toUpperCase() }),
  })
slotted.on(S.Paid, E.Request, stay, ({ effects }) => {
  // @ts-expect-error a parameter of the wrong type
  effects.charge({ amount: "much" })
  return stay
})
const full = slotted.build({
  inStock: ({ orderId }, { state }) => orderId === state._tag,
  open: () => true,
  charge: ({ amount }) => Effect.flatMap(Bank, (bank) => bank.charge(amount)),
  pick: () => Effect.succeed(1),
})
holds<Equal<M.ServicesOf<typeof full>, "Bank">>()
// @ts-expect-error pick is left out
slotted.build({ inStock: () => true, open: () => true, charge: () => Effect.void })
// @ts-expect-error there is no such slot
slotted.build({ inStock: () => true, open: () => true, charge: () => Effect.void, pick: () => Effect.succeed(1), pikc: () => Effect.void })
// @ts-expect-error a guard is not an Effect
slotted.build({ inStock: () => Effect.succeed(true), open: () => true, charge: () => Effect.void, pick: () => Effect.succeed(1) })
// @ts-expect-error slots are to be built first
Machine.decide(slotted, start, E.Request())
// @ts-expect-error slots are to be built first
spawn(slotted)
Machine.decide(full, start, E.Request())
const effectsOnly = Machine.make({ name: "order", state: S, event: E, effects, initial: start }).on(S.Pending, E.Request, S.Awaiting)
Machine.decide(effectsOnly, start, E.Request())
// @ts-expect-error effects are to be built before they can run
spawn(effectsOnly)
// @ts-expect-error the service is not provided
Effect.runPromise(Effect.scoped(spawn(full)))

// Slots and names for diagrams
slotted
  .on(S.Paid, E.Request, stay, () => stay, { guards: ["open", "inStock"], requests: ["charge"] })
  .enter(S.Paid, () => undefined, { name: "charge the card", requests: ["charge"] })
  .exit(S.Paid, () => undefined, { name: "leave" })
  .spawn(S.Paid, () => Effect.never, { name: "pick the items", runs: ["pick"] })
  .task(S.Paid, () => Effect.void, { onSuccess: () => E.Request(), onFailure: () => E.Request() }, { runs: ["pick"] })
  .timeout(S.Paid, 5, S.Pending, { requests: ["charge"] })
  .always(S.Paid, () => true, S.Pending, { guards: ["open"], guardName: "open" })
// @ts-expect-error there is no such slot
slotted.enter(S.Paid, () => undefined, { requests: ["chrage"] })
// @ts-expect-error a guard is not requested
slotted.on(S.Paid, E.Request, stay, () => stay, { requests: ["open"] })
// @ts-expect-error an effect is not a guard
slotted.always(S.Paid, () => true, S.Pending, { guards: ["charge"] })
// @ts-expect-error work runs slots, and requests none
slotted.spawn(S.Paid, () => Effect.never, { requests: ["pick"] })
// @ts-expect-error a machine without slots has none to declare
base.enter(S.Paid, () => undefined, { requests: ["charge"] })
Machine.make({ name: "order", state: S, event: E, initial: (id: string) => S.Pending({ orderId: id, total: 0 }), initialState: S.Pending })
Machine.make({ name: "order", state: S, event: E, initial: () => start, initialState: [S.Pending, S.Paid] })
// @ts-expect-error an event is not a state to begin in
Machine.make({ name: "order", state: S, event: E, initial: () => start, initialState: E.Request })

// Async functions
class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.Number }) {}
const asyncSlots = Slot.Effects({
  charge: Slot.effect({ amount: Schema.Number }, { success: Schema.String, failure: Declined }),
  mail: { to: Schema.String },
})
const asyncBase = Machine.make({ name: "async", state: S, event: E, effects: asyncSlots, initial: start })
class Mailer extends Context.Service<Mailer, { readonly mail: Effect.Effect<void> }>()("Mailer") {}

const asyncBuilt = asyncBase.build({
  charge: async ({ amount }, { signal, run, self, key }) => {
    holds<Equal<typeof amount, number>>()
    holds<Equal<typeof signal, AbortSignal>>()
    const sent = await run(self.send(E.Pay({ transactionId: key })))
    holds<Equal<typeof sent, void>>()
    return "receipt"
  },
  // A handler beside it may return an Effect: its services count, those of the other are none.
  mail: ({ to }) => Effect.flatMap(Mailer, (mailer) => Effect.as(mailer.mail, void to)),
})
holds<Equal<M.ServicesOf<typeof asyncBuilt>, Mailer>>()
const asyncOnly = asyncBase.build({ charge: async () => "receipt", mail: async () => undefined })
holds<Equal<M.ServicesOf<typeof asyncOnly>, never>>()
// @ts-expect-error the Promise resolves to what the success schema does not have
asyncBase.build({ charge: async () => 7, mail: async () => undefined })
// @ts-expect-error neither an Effect nor a Promise
asyncBase.build({ charge: () => "receipt", mail: async () => undefined })

asyncBase.spawn(S.Pending, async ({ state, effects, run, signal }) => {
  const receipt = await run(effects.charge({ amount: state.total }))
  holds<Equal<typeof receipt, string>>()
  signal.throwIfAborted()
})
// @ts-expect-error an Effect that needs services runs where they are provided, not in async code
asyncBase.spawn(S.Pending, async ({ run }) => run(Effect.flatMap(Mailer, (mailer) => mailer.mail)))
const asyncTask = asyncBase.task(S.Pending, async ({ state }) => state.total, {
  onSuccess: (total) => {
    holds<Equal<typeof total, number>>()
    return E.Request()
  },
  onFailure: (error) => {
    holds<Equal<typeof error, unknown>>()
    return E.Cancel({ reason: String(error) })
  },
})
holds<Equal<M.ServicesOf<typeof asyncTask>, never>>()
asyncBase.task(S.Pending, ({ effects }) => effects.charge({ amount: 1 }), {
  onSuccess: (receipt) => E.Pay({ transactionId: receipt }),
  onFailure: (error) => {
    holds<Equal<typeof error, Declined>>()
    return E.Cancel({ reason: String(error.code) })
  },
})

// Groups are states
const G = State({
  Away: { orderId: Schema.String },
  Home: State.group(
    {
      Upstairs: State.group(
        { Bed: { orderId: Schema.String }, Bath: { orderId: Schema.String, warm: Schema.Boolean } },
        { initial: "Bed" },
      ),
      Kitchen: { orderId: Schema.String, meal: Schema.String },
    },
    { initial: "Upstairs" },
  ),
  Street: State.group({ Left: { orderId: Schema.String }, Right: { orderId: Schema.String } }),
  Lost: { reason: Schema.String },
})
const homing = Machine.make({ name: "homing", state: G, event: E, initial: G.Away({ orderId: "1" }) })
homing.on(G.Away, E.Request, G.Home)
homing.on(G.Away, E.Request, G.Home, () => G.Kitchen({ orderId: "1", meal: "soup" }))
homing.on(G.Away, E.Request, history(G.Home))
homing.on(G.Away, E.Request, [history(G.Home), G.Away], ({ state }) => (state.orderId === "" ? state : history(G.Home)))
homing.timeout(G.Home, "3 days", G.Away).timeout(G.Kitchen, "1 hour", G.Bed, { name: "cooking" })
homing.timeout(G.Home, "3 days", G.Away, { each: true }).timeout(G.Kitchen, "1 hour", G.Bed, { override: true })
homing.spawn(G.Home, () => Effect.never, { each: true }).enter(G.Home, () => undefined, { each: true })
// @ts-expect-error a timeout of the group and one of its state share a name
homing.timeout(G.Home, "3 days", G.Away).timeout(G.Kitchen, "1 hour", G.Bed)
// @ts-expect-error nothing gives the orderId of the initial member
homing.on(G.Lost, E.Request, G.Home)
// @ts-expect-error nor for the first time that history is asked
homing.on(G.Lost, E.Request, history(G.Home))
// @ts-expect-error a group that names no initial member is not a target
homing.on(G.Away, E.Request, G.Street)
// @ts-expect-error and has no history
history(G.Street)
// @ts-expect-error the decision returns a state outside of the group
homing.on(G.Away, E.Request, G.Home, () => G.Lost({ reason: "no" }))
// @ts-expect-error history is not listed
homing.on(G.Away, E.Request, G.Away, () => history(G.Home))
// @ts-expect-error no such member
State.group({ A: {} }, { initial: "B" })
homing.on(G.Home, E.Cancel, G.Lost).on(G.Kitchen, E.Cancel, G.Bed, { fallThrough: true, guard: ({ state }) => state.meal === "" })
// @ts-expect-error nothing to fall through to
homing.on(G.Kitchen, E.Cancel, G.Bed, { fallThrough: true, guard: () => true })
const falling = homing.on(G.Home, E.Cancel, G.Lost).on(G.Kitchen, E.Cancel, G.Bed, { fallThrough: true, guard: () => true })
holds<Equal<M.TargetOf<typeof falling, "Kitchen", "Cancel">, "Lost" | "Bed">>()
holds<Equal<M.TargetOf<typeof falling, "Bath", "Cancel">, "Lost">>()
homing.done(G.Home, G.Kitchen, ({ state }) => E.Cancel({ reason: state.meal }))
homing.done(G.Home, G.Kitchen, E.Request())
// @ts-expect-error Away is not a member of the group
homing.done(G.Home, G.Away, E.Request())
homing.meta(G.Home, { tags: ["inside"], description: "at home" }).meta([G.Away, G.Street], { tags: ["outside"] })
homing.task(G.Home, () => Effect.succeed(1), {
  onSuccess: () => E.Request(),
  onFailure: () => E.Request(),
  onDefect: (defect, { state }) => E.Cancel({ reason: `${String(defect)} in ${state._tag}` }),
})
