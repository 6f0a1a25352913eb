/**
 * Five machines whose mutants the oracle must find. Each is a function of what it imports, so that its text can be changed and run again. The
 * scripts are sent to the machine and to each mutant alike.
 */
import { Event, history, Machine, reply, Slot, State, stay, stop } from "@detent/machine"
import { compiledOf, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What a machine imports. */
export interface Kit {
  readonly Event: typeof Event
  readonly history: typeof history
  readonly Machine: typeof Machine
  readonly reply: typeof reply
  readonly Slot: typeof Slot
  readonly State: typeof State
  readonly stay: typeof stay
  readonly stop: typeof stop
  readonly Schema: typeof Schema
}

const kit: Kit = { Event, history, Machine, reply, Slot, State, stay, stop, Schema }

/** Made from the text of a function, so nothing is known of its states. */
export interface Specimen {
  readonly machine: { readonly name: string }
  /** The first state of the n-th instance. */
  readonly start: (random: () => number) => unknown
  /** An event that comes next, or an advance of time in milliseconds. */
  readonly next: (random: () => number) => Tagged | number
}

export const make = (text: string): Specimen => new Function(`return ${text}`)()(kit) as Specimen

/** The machine with handlers that do nothing, as an engine takes it. */
export const built = ({ machine }: Specimen) => {
  const slots = Object.keys(compiledOf(machine).declarations.effectSlots)
  const definition = machine as unknown as { readonly build: (handlers: object) => Machine.Definition<unknown, unknown, never, never> }
  return definition.build(Object.fromEntries(slots.map((slot) => [slot, () => Effect.void])))
}

/** An order with thresholds, effects and a deadline. */
const order = ({ Event, Machine, Slot, State, Schema }: Kit) => {
  const of = { total: Schema.Int, items: Schema.Int }
  const S = State({
    Basket: of,
    Review: of,
    Awaiting: of,
    Paid: { ...of, paid: Schema.Int },
    Shipped: { ...of, paid: Schema.Int, parcels: Schema.Int },
    Delivered: { total: Schema.Int },
    Cancelled: { reason: Schema.String },
  })
  const E = Event({
    Add: { price: Schema.Int, count: Schema.Int },
    Order: {},
    Approve: {},
    Pay: { amount: Schema.Int },
    Ship: {},
    Deliver: {},
    Cancel: {},
  })
  const effects = Slot.Effects({ charge: { amount: Schema.Int }, notify: { items: Schema.Int }, refund: { amount: Schema.Int } })
  const machine = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Basket })
    .on(S.Basket, E.Add, S.Basket, ({ state, event }) =>
      S.Basket({ total: state.total + event.price * event.count, items: state.items + event.count }),
    )
    .on(
      S.Basket,
      E.Order,
      [S.Review, S.Awaiting],
      ({ state }) =>
        state.total > 100 ? S.Review({ total: state.total, items: state.items }) : S.Awaiting({ total: state.total, items: state.items }),
      { guard: ({ state }) => state.items >= 1, guardName: "is not empty" },
    )
    .on(S.Review, E.Approve, S.Awaiting, ({ state }) => S.Awaiting({ total: state.total, items: state.items }))
    .on(
      S.Awaiting,
      E.Pay,
      S.Paid,
      ({ state, event, effects }) => {
        effects.charge({ amount: state.total })
        if (event.amount > state.total) effects.refund({ amount: event.amount - state.total })
        return S.Paid({ total: state.total, items: state.items, paid: state.total })
      },
      { guard: ({ state, event }) => event.amount >= state.total, guardName: "covers the total", requests: ["charge", "refund"] },
    )
    .on(
      S.Paid,
      E.Ship,
      S.Shipped,
      ({ state, effects }) => {
        effects.notify({ items: state.items })
        return S.Shipped({ total: state.total, items: state.items, paid: state.paid, parcels: state.items > 3 ? 2 : 1 })
      },
      { requests: ["notify"] },
    )
    .on(S.Shipped, E.Deliver, S.Delivered, ({ state }) => S.Delivered({ total: state.paid }))
    .on([S.Basket, S.Review, S.Awaiting], E.Cancel, S.Cancelled, () => S.Cancelled({ reason: "customer" }))
    .timeout(S.Awaiting, "30 minutes", S.Cancelled, () => S.Cancelled({ reason: "not paid" }))
    .final(S.Delivered, S.Cancelled)
  const next = (random: () => number) => {
    const pick = Math.floor(random() * 12)
    if (pick < 3) return E.Add({ price: Math.floor(random() * 60), count: 1 + Math.floor(random() * 3) })
    if (pick < 5) return E.Order()
    if (pick === 5) return E.Approve()
    if (pick < 8) return E.Pay({ amount: Math.floor(random() * 300) })
    if (pick === 8) return E.Ship()
    if (pick === 9) return E.Deliver()
    if (pick === 10) return random() < 0.3 ? E.Cancel() : E.Pay({ amount: 400 })
    return Math.floor(random() * 20) * 60_000
  }
  return { machine, start: () => ({ total: 0, items: 0 }), next }
}

/** An approval with idle reminders, a group and an escalation that depends on the amount. */
const approval = ({ Event, Machine, Slot, State, stay, Schema }: Kit) => {
  const of = { amount: Schema.Int, reminders: Schema.Int }
  const S = State({
    Draft: of,
    Waiting: State.group({ WithManager: of, WithDirector: of }),
    Approved: { amount: Schema.Int, by: Schema.String },
    Rejected: { amount: Schema.Int },
    Expired: { reminders: Schema.Int },
  })
  const E = Event({ Change: { by: Schema.Int }, Submit: {}, Approve: { by: Schema.String }, Reject: {}, Ask: {} })
  const effects = Slot.Effects({ remind: { times: Schema.Int }, tell: { by: Schema.String, amount: Schema.Int } })
  const machine = Machine.make({ name: "approval", state: S, event: E, effects, initial: S.Draft })
    .on(S.Draft, E.Change, S.Draft, ({ state, event }) => S.Draft({ amount: state.amount + event.by, reminders: state.reminders }))
    .on(S.Draft, E.Submit, [S.WithManager, S.WithDirector], ({ state }) =>
      state.amount < 1000 ? S.WithManager({ amount: state.amount, reminders: 0 }) : S.WithDirector({ amount: state.amount, reminders: 0 }),
    )
    .on(S.WithManager, E.Ask, S.WithManager, ({ state }) => S.WithManager({ amount: state.amount, reminders: state.reminders + 1 }))
    .on(
      S.Waiting,
      E.Approve,
      S.Approved,
      ({ state, event, effects }) => {
        effects.tell({ by: event.by, amount: state.amount })
        return S.Approved({ amount: state.amount, by: event.by })
      },
      { guard: ({ event }) => event.by === "boss", guardName: "may approve", requests: ["tell"] },
    )
    .on(S.Waiting, E.Reject, S.Rejected, ({ state }) => S.Rejected({ amount: state.amount }))
    .timeout(
      S.WithManager,
      "2 days",
      S.WithManager,
      ({ state, effects }) => {
        effects.remind({ times: state.reminders + 1 })
        return S.WithManager({ amount: state.amount, reminders: state.reminders + 1 })
      },
      { name: "reminder", idle: true, requests: ["remind"] },
    )
    .timeout(S.WithManager, "7 days", S.WithDirector, ({ state }) => S.WithDirector({ amount: state.amount, reminders: state.reminders }), {
      name: "escalation",
    })
    .timeout(
      S.WithDirector,
      ({ amount }) => (amount > 2000 ? "10 days" : "5 days"),
      S.Expired,
      ({ state }) => S.Expired({ reminders: state.reminders }),
    )
    .on(S.WithDirector, E.Ask, stay)
    .final(S.Approved, S.Rejected, S.Expired)
  const next = (random: () => number) => {
    const pick = Math.floor(random() * 12)
    if (pick < 3) return E.Change({ by: Math.floor(random() * 1500) })
    if (pick < 5) return E.Submit()
    if (pick === 5) return E.Approve({ by: random() < 0.5 ? "boss" : "clerk" })
    if (pick === 6) return random() < 0.4 ? E.Reject() : E.Ask()
    if (pick === 7) return E.Ask()
    return Math.floor(random() * 4) * 24 * 3_600_000
  }
  return { machine, start: () => ({ amount: 0, reminders: 0 }), next }
}

/** A subscription with delayed and raised events and an automatic transition. */
const subscription = ({ Event, Machine, Slot, State, stop, Schema }: Kit) => {
  const of = { plan: Schema.Int, credit: Schema.Int, failures: Schema.Int }
  const S = State({ Trial: of, Active: of, PastDue: of, Ended: { credit: Schema.Int } })
  const E = Event({
    Begin: { plan: Schema.Int },
    Renew: {},
    TopUp: { by: Schema.Int },
    Billed: { amount: Schema.Int },
    Failed: {},
    Leave: {},
  })
  const effects = Slot.Effects({ bill: { amount: Schema.Int }, warn: { failures: Schema.Int } })
  const machine = Machine.make({ name: "subscription", state: S, event: E, effects, initial: S.Trial })
    .on(S.Trial, E.Begin, S.Active, ({ state, event, after }) => {
      after("renewal", "30 days", E.Renew())
      return S.Active({ plan: event.plan, credit: state.credit, failures: 0 })
    })
    .on(S.Active, E.TopUp, S.Active, ({ state, event }) =>
      S.Active({ plan: state.plan, credit: state.credit + event.by, failures: state.failures }),
    )
    .on(
      S.Active,
      E.Renew,
      S.Active,
      ({ state, effects, self, after }) => {
        after("renewal", "30 days", E.Renew())
        if (state.credit >= state.plan) self.send(E.Billed({ amount: state.plan }))
        else {
          effects.bill({ amount: state.plan - state.credit })
          self.send(E.Failed())
        }
        return S.Active({ plan: state.plan, credit: state.credit, failures: state.failures })
      },
      { requests: ["bill"] },
    )
    .on(S.Active, E.Billed, S.Active, ({ state, event }) =>
      S.Active({ plan: state.plan, credit: state.credit - event.amount, failures: 0 }),
    )
    .on(
      S.Active,
      E.Failed,
      S.Active,
      ({ state, effects }) => {
        effects.warn({ failures: state.failures + 1 })
        return S.Active({ plan: state.plan, credit: state.credit, failures: state.failures + 1 })
      },
      { requests: ["warn"] },
    )
    .always(
      S.Active,
      ({ state }) => state.failures > 1,
      S.PastDue,
      ({ state }) => S.PastDue({ plan: state.plan, credit: state.credit, failures: state.failures }),
    )
    .on(S.PastDue, E.TopUp, S.Active, ({ state, event, after }) => {
      after("renewal", "1 day", E.Renew())
      return S.Active({ plan: state.plan, credit: state.credit + event.by, failures: 0 })
    })
    .on(S.PastDue, E.Renew, S.PastDue, ({ state }) => S.PastDue({ plan: state.plan, credit: state.credit, failures: state.failures + 1 }))
    .timeout(S.PastDue, "14 days", S.Ended, ({ state }) => S.Ended({ credit: state.credit }))
    .timeout(S.Trial, "10 days", S.Ended, () => S.Ended({ credit: 0 }))
    .on([S.Active, S.PastDue], E.Leave, stop("left"), ({ cancel }) => {
      cancel("renewal")
      return stop("left")
    })
    .final(S.Ended)
  const next = (random: () => number) => {
    const pick = Math.floor(random() * 10)
    if (pick < 2) return E.Begin({ plan: 10 + Math.floor(random() * 20) })
    if (pick < 4) return E.TopUp({ by: Math.floor(random() * 40) })
    if (pick === 4) return random() < 0.2 ? E.Leave() : E.TopUp({ by: 5 })
    return Math.floor(random() * 20) * 24 * 3_600_000
  }
  return { machine, start: () => ({ plan: 0, credit: 0, failures: 0 }), next }
}

/** A stock with questions, refusals by guards and hooks that request effects. */
const stock = ({ Event, Machine, Slot, State, reply, Schema }: Kit) => {
  const of = { count: Schema.Int, reserved: Schema.Int }
  const S = State({ Open: of, Low: of, Closed: { left: Schema.Int } })
  const E = Event({
    Reserve: Event.reply({ by: Schema.Int }, Schema.Int),
    Release: { by: Schema.Int },
    Deliver: { by: Schema.Int },
    Take: { by: Schema.Int },
    Close: {},
  })
  const effects = Slot.Effects({ reorder: { count: Schema.Int }, audit: { left: Schema.Int } })
  const machine = Machine.make({ name: "stock", state: S, event: E, effects, initial: S.Open })
    .on(
      [S.Open, S.Low],
      E.Reserve,
      S.Open,
      ({ state, event }) =>
        reply(state.count - state.reserved - event.by, S.Open({ count: state.count, reserved: state.reserved + event.by })),
      { guard: ({ state, event }) => state.count - state.reserved >= event.by, guardName: "is there" },
    )
    .on([S.Open, S.Low], E.Release, S.Open, ({ state, event }) =>
      S.Open({ count: state.count, reserved: Math.max(0, state.reserved - event.by) }),
    )
    .on([S.Open, S.Low], E.Deliver, S.Open, ({ state, event }) => S.Open({ count: state.count + event.by, reserved: state.reserved }))
    .on(
      S.Open,
      E.Take,
      S.Open,
      ({ state, event }) => S.Open({ count: state.count - event.by, reserved: Math.max(0, state.reserved - event.by) }),
      { guard: ({ state, event }) => event.by <= state.count && event.by < 50, guardName: "may be taken" },
    )
    .always(
      S.Open,
      ({ state }) => state.count < 10,
      S.Low,
      ({ state }) => S.Low({ count: state.count, reserved: state.reserved }),
    )
    .enter(S.Low, ({ state, effects }) => effects.reorder({ count: 20 - state.count }), { requests: ["reorder"] })
    .on(S.Low, E.Close, S.Closed, ({ state }) => S.Closed({ left: state.count }), {
      guard: ({ state }) => state.reserved === 0,
      guardName: "nothing is reserved",
    })
    .exit(S.Low, ({ state, effects }) => effects.audit({ left: state.count }), { requests: ["audit"] })
    .timeout(S.Low, "1 day", S.Open, ({ state }) => S.Open({ count: state.count + 20, reserved: state.reserved }))
    .final(S.Closed)
  const next = (random: () => number) => {
    const by = 1 + Math.floor(random() * 15)
    const pick = Math.floor(random() * 10)
    if (pick < 3) return E.Reserve({ by })
    if (pick < 4) return E.Release({ by })
    if (pick < 5) return E.Deliver({ by: by * 5 })
    if (pick < 8) return E.Take({ by: random() < 0.2 ? by * 5 : by })
    if (pick === 8) return E.Close()
    return Math.floor(random() * 36) * 3_600_000
  }
  return { machine, start: () => ({ count: 15, reserved: 0 }), next }
}

/** A ticket with nested groups, history, postponed events and a time limit of a group. */
const ticket = ({ Event, Machine, Slot, State, history, Schema }: Kit) => {
  const of = { priority: Schema.Int, notes: Schema.Int }
  const S = State({
    New: of,
    Work: State.group({ Triage: of, Doing: of, Testing: of }, { initial: "Triage" }),
    OnHold: of,
    Done: { notes: Schema.Int },
    Dropped: { priority: Schema.Int },
  })
  const E = Event({ Take: {}, Note: {}, Raise: { by: Schema.Int }, Next: {}, Fail: {}, Hold: {}, Resume: {}, Drop: {} })
  const effects = Slot.Effects({ page: { priority: Schema.Int }, log: { notes: Schema.Int } })
  const machine = Machine.make({ name: "ticket", state: S, event: E, effects, initial: S.New })
    .on(S.New, E.Take, S.Triage, ({ state }) => S.Triage({ priority: state.priority, notes: state.notes }))
    .on(S.New, E.Raise, S.New, ({ state, event }) => S.New({ priority: state.priority + event.by, notes: state.notes }))
    .on(S.Triage, E.Raise, S.Triage, ({ state, event }) => S.Triage({ priority: state.priority + event.by, notes: state.notes }))
    .on(S.Triage, E.Next, S.Doing, ({ state }) => S.Doing({ priority: state.priority, notes: state.notes }))
    .on(S.Doing, E.Note, S.Doing, ({ state }) => S.Doing({ priority: state.priority, notes: state.notes + 1 }))
    .on(S.Doing, E.Next, S.Testing, ({ state }) => S.Testing({ priority: state.priority, notes: state.notes }), {
      guard: ({ state }) => state.notes > 0,
      guardName: "has notes",
    })
    .on(S.Testing, E.Fail, S.Doing, ({ state }) => S.Doing({ priority: state.priority + 1, notes: state.notes }))
    .on(
      S.Testing,
      E.Next,
      S.Done,
      ({ state, effects }) => {
        effects.log({ notes: state.notes })
        return S.Done({ notes: state.notes })
      },
      { requests: ["log"] },
    )
    .on(S.Work, E.Hold, S.OnHold, ({ state }) => S.OnHold({ priority: state.priority, notes: state.notes }))
    .on(S.OnHold, E.Resume, history(S.Work))
    .on([S.New, S.OnHold], E.Drop, S.Dropped, ({ state }) => S.Dropped({ priority: state.priority }), {
      guard: ({ state }) => state.priority <= 3 || state.notes === 0,
      guardName: "may be dropped",
    })
    .postpone(S.OnHold, E.Note)
    .timeout(S.Work, "3 days", S.OnHold, ({ state }) => S.OnHold({ priority: state.priority, notes: state.notes }), { name: "stale" })
    .timeout(
      S.OnHold,
      ({ priority }) => (priority > 2 ? "1 day" : "4 days"),
      S.Dropped,
      ({ state }) => S.Dropped({ priority: state.priority }),
    )
    .enter(
      S.OnHold,
      ({ state, effects }) => {
        if (state.priority > 2) effects.page({ priority: state.priority })
      },
      { requests: ["page"] },
    )
    .final(S.Done, S.Dropped)
  const next = (random: () => number) => {
    const pick = Math.floor(random() * 14)
    if (pick < 2) return E.Take()
    if (pick < 4) return E.Note()
    if (pick === 4) return E.Raise({ by: 1 + Math.floor(random() * 2) })
    if (pick < 8) return E.Next()
    if (pick === 8) return E.Fail()
    if (pick === 9) return E.Hold()
    if (pick < 12) return E.Resume()
    if (pick === 12) return random() < 0.3 ? E.Drop() : E.Note()
    return Math.floor(random() * 36) * 3_600_000
  }
  return { machine, start: () => ({ priority: 1, notes: 0 }), next }
}

/** The text of each machine, by its name. */
export const specimens: ReadonlyMap<string, string> = new Map(
  [order, approval, subscription, stock, ticket].map((make) => [make.name, make.toString()]),
)
