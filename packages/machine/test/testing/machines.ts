import { Event, Machine, reply, Slot, State, stay, stop } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const order = { orderId: Schema.String, total: Schema.Finite }

export const OrderState = State({
  Pending: order,
  Awaiting: order,
  Paid: { ...order, transactionId: Schema.String },
  Fulfilling: State.group({ Picking: { orderId: Schema.String }, Packing: { orderId: Schema.String } }),
  Delivered: { orderId: Schema.String },
  Cancelled: { orderId: Schema.String, reason: Schema.String },
})
export const OrderEvent = Event({
  RequestPayment: {},
  Pay: { transactionId: Schema.String, card: Event.sensitive(Schema.String) },
  Cancel: { reason: Schema.String },
  Ship: {},
  Picked: {},
  Deliver: {},
  Shutdown: {},
  GetTotal: Event.reply({}, Schema.Finite),
})

/** A shop's order: groups, guards, requests, a timeout, a reply, a stop. Not built. */
export const Order = Machine.make({
  name: "order",
  state: OrderState,
  event: OrderEvent,
  guards: Slot.Guards({ inStock: { orderId: Schema.String } }),
  effects: Slot.Effects({
    notifyWarehouse: { orderId: Schema.String },
    chargeCard: { amount: Schema.Finite },
    pickItems: { orderId: Schema.String },
  }),
  initial: (input: { readonly orderId: string; readonly total: number }) => OrderState.Pending(input),
})
  .on(OrderState.Pending, OrderEvent.RequestPayment, OrderState.Awaiting)
  .on(OrderState.Pending, OrderEvent.GetTotal, stay, ({ state }) => reply(state.total))
  .on(OrderState.Awaiting, OrderEvent.Pay, OrderState.Paid)
  .on([OrderState.Pending, OrderState.Awaiting], OrderEvent.Cancel, OrderState.Cancelled)
  .on(OrderState.Paid, OrderEvent.Ship, [OrderState.Picking, OrderState.Cancelled], ({ state, guards, effects }) => {
    if (!guards.inStock({ orderId: state.orderId })) return OrderState.Cancelled.derive(state, { reason: "out of stock" })
    effects.notifyWarehouse({ orderId: state.orderId })
    return OrderState.Picking.derive(state)
  })
  .on(OrderState.Picking, OrderEvent.Picked, OrderState.Packing)
  .on(OrderState.Packing, OrderEvent.Deliver, OrderState.Delivered)
  .on(OrderState.Fulfilling, OrderEvent.Shutdown, stop("shut down"))
  .timeout(OrderState.Awaiting, "30 minutes", OrderState.Cancelled, ({ state }) =>
    OrderState.Cancelled.derive(state, { reason: "not paid" }),
  )
  .enter(OrderState.Paid, ({ state, effects }) => effects.chargeCard({ amount: state.total }))
  .spawn(OrderState.Picking, ({ state, effects }) => effects.pickItems({ orderId: state.orderId }))
  .final(OrderState.Delivered, OrderState.Cancelled)

export const start = { orderId: "7", total: 42 }

export const QueueState = State({
  Closed: { handled: Schema.Array(Schema.String) },
  Open: { handled: Schema.Array(Schema.String) },
  Busy: { handled: Schema.Array(Schema.String) },
  Gone: { handled: Schema.Array(Schema.String) },
})
export const QueueEvent = Event({
  Open: {},
  Close: {},
  Customer: { name: Schema.String },
  Echo: { name: Schema.String },
  Twice: { name: Schema.String },
  Rest: {},
  Move: {},
})

/** A counter with opening hours: postponed customers, events sent to itself, an end while customers wait. */
export const Counter = Machine.make({
  name: "counter",
  state: QueueState,
  event: QueueEvent,
  initial: QueueState.Closed({ handled: [] }),
})
  .on(QueueState.Closed, QueueEvent.Open, QueueState.Open, ({ state, self }) => {
    self.send(QueueEvent.Echo({ name: "opened" }))
    self.send(QueueEvent.Echo({ name: "ready" }))
    return QueueState.Open.derive(state)
  })
  .postpone([QueueState.Closed, QueueState.Busy], QueueEvent.Customer)
  .on(QueueState.Open, QueueEvent.Customer, QueueState.Busy, ({ state, event, self }) => {
    self.send(QueueEvent.Echo({ name: `served ${event.name}` }))
    return QueueState.Busy({ handled: [...state.handled, event.name] })
  })
  .on([QueueState.Open, QueueState.Busy], QueueEvent.Echo, [QueueState.Open, QueueState.Busy], ({ state, event }) => ({
    ...state,
    handled: [...state.handled, event.name],
  }))
  .on([QueueState.Open, QueueState.Busy], QueueEvent.Twice, stay, ({ event, self }) => {
    // The first is handled, and what it sends in turn, before the second is.
    if (!event.name.startsWith("again")) self.send(QueueEvent.Twice({ name: `again ${event.name}` }))
    self.send(QueueEvent.Echo({ name: event.name }))
    return stay
  })
  .on(QueueState.Busy, QueueEvent.Rest, QueueState.Open)
  .on([QueueState.Closed, QueueState.Busy], QueueEvent.Move, QueueState.Gone)
  .final(QueueState.Gone)
  .on([QueueState.Open, QueueState.Busy], QueueEvent.Close, QueueState.Closed)

export const SessionState = State({
  Active: { clicks: Schema.Int },
  Warned: { clicks: Schema.Int },
  Sorting: { clicks: Schema.Int },
  Busy: { clicks: Schema.Int },
  Quiet: { clicks: Schema.Int },
  Expired: { clicks: Schema.Int, why: Schema.String },
})
export const SessionEvent = Event({ Click: {}, Sort: {}, Refresh: {}, Nothing: {} })

const expired =
  (why: string) =>
  ({ state }: { readonly state: { readonly clicks: number } }) =>
    SessionState.Expired({ clicks: state.clicks, why })

/** A session: state and idle timeouts, several by name, automatic transitions, reenter. */
export const Session = Machine.make({
  name: "session",
  state: SessionState,
  event: SessionEvent,
  initial: SessionState.Active({ clicks: 0 }),
})
  .on([SessionState.Active, SessionState.Warned], SessionEvent.Click, SessionState.Active, ({ state }) =>
    SessionState.Active({ clicks: state.clicks + 1 }),
  )
  .on([SessionState.Active, SessionState.Warned], SessionEvent.Nothing, stay)
  .reenter(SessionState.Active, SessionEvent.Refresh)
  .on(SessionState.Active, SessionEvent.Sort, SessionState.Sorting)
  .always(SessionState.Sorting, ({ state }) => state.clicks > 2, SessionState.Busy)
  .always(SessionState.Sorting, () => true, SessionState.Quiet)
  .always(SessionState.Busy, ({ state }) => state.clicks > 4, SessionState.Quiet)
  .on([SessionState.Busy, SessionState.Quiet], SessionEvent.Click, SessionState.Active, ({ state }) =>
    SessionState.Active({ clicks: state.clicks + 1 }),
  )
  .timeout(SessionState.Active, "10 minutes", SessionState.Warned, { name: "idle", idle: true })
  .timeout(SessionState.Active, "1 hour", SessionState.Expired, expired("too long"), { name: "whole" })
  .timeout(SessionState.Warned, "1 minute", SessionState.Expired, expired("idle"), { idle: true })
  .timeout(SessionState.Quiet, ({ clicks }) => `${clicks + 1} minutes`, stay, { name: "tick" })
  .timeout(SessionState.Quiet, "5 minutes", SessionState.Active, { name: "back" })
  .final(SessionState.Expired)

export const LampState = State({ Off: {}, On: {}, Broken: {} })
export const LampEvent = Event({ Switch: {}, Ask: Event.reply({}, Schema.Boolean), Check: {} })

/** A lamp whose check asks someone outside: its decision is an Effect. */
export const Lamp = Machine.make({ name: "lamp", state: LampState, event: LampEvent, initial: LampState.Off() })
  .on(LampState.Off, LampEvent.Switch, LampState.On)
  .on(LampState.On, LampEvent.Switch, LampState.Off)
  .onAny(LampEvent.Ask, stay, ({ state }) => reply(state._tag === "On"))
  .on([LampState.Off, LampState.On], LampEvent.Check, [LampState.Broken, stay], ({ state }) =>
    Effect.succeed(state._tag === "On" ? LampState.Broken() : stay),
  )
  .final(LampState.Broken)
