/** Protocols with the mistakes that people make in them. Each is sound without a mistake. */
import { Event, Machine, Slot, State, stay } from "@detent/machine"
import { alwaysEventually, type CheckReport, check, leadsTo, never } from "@detent/machine/testing"
import * as Schema from "effect/Schema"

class Declined extends Schema.TaggedError<Declined>()("Declined", {}) {}

/** A payment with two tries. `release` gives back what was charged, and prevents a charge that is still on its way. */
export const checkPayment = (mistake?: string): CheckReport => {
  const S = State({
    Open: {},
    Charging: { tries: Schema.Int, cancelled: Schema.Boolean },
    Releasing: {},
    Paid: {},
    Cancelled: {},
  })
  const E = Event({ Pay: {}, Cancel: {}, Charged: {}, Refused: {}, TimedOut: {}, Released: {} })
  const effects = Slot.Effects({ charge: Slot.effect({}, { failure: Declined }), release: {} })
  const machine = Machine.make({ name: "payment", state: S, event: E, effects, initial: S.Open() })
    .on(S.Open, E.Pay, S.Charging, ({ effects }) => {
      effects.charge()
      return S.Charging({ tries: 1, cancelled: false })
    })
    .on(S.Open, E.Cancel, S.Cancelled)
    .on(S.Charging, E.Pay, stay, ({ effects }) => {
      if (mistake === "charges again on a second click") effects.charge()
      return stay
    })
    .on(S.Charging, E.Cancel, [S.Charging, S.Cancelled, S.Releasing], ({ state, effects }) => {
      if (mistake === "cancels while the charge is on its way") return S.Cancelled()
      if (mistake !== "releases before the charge is known") return S.Charging({ ...state, cancelled: true })
      effects.release()
      return S.Releasing()
    })
    .on(S.Charging, E.Charged, [S.Paid, S.Releasing, S.Cancelled], ({ state, effects }) => {
      if (!state.cancelled) return S.Paid()
      if (mistake === "forgets to release") return S.Cancelled()
      effects.release()
      if (mistake === "releases twice") effects.release()
      return S.Releasing()
    })
    .on(S.Charging, E.Refused, [S.Charging, S.Cancelled, stay], ({ state, effects }) => {
      if (mistake === "does nothing after a refusal") return stay
      if (state.cancelled || state.tries === 2) return S.Cancelled()
      effects.charge()
      return S.Charging({ ...state, tries: mistake === "tries for ever" ? state.tries : state.tries + 1 })
    })
    .on(S.Charging, E.TimedOut, [S.Releasing, S.Cancelled], ({ effects }) => {
      if (mistake === "takes a time-out for a refusal") return S.Cancelled()
      effects.release()
      return S.Releasing()
    })
    .on(S.Releasing, E.Released, S.Cancelled)
    .timeout(
      S.Charging,
      () => (mistake === "ends a charge by a deadline" ? "1 minute" : Number.POSITIVE_INFINITY),
      S.Cancelled,
      () => S.Cancelled(),
    )
    .final(S.Paid, S.Cancelled)
    .commands({
      charge: { onSuccess: () => E.Charged(), onFailure: (error) => (error._tag === "Declined" ? E.Refused() : E.TimedOut()) },
      release: mistake === "ignores the result of the release" ? {} : { onSuccess: () => E.Released() },
    })
  return check(machine, {
    events: ["Pay", "Cancel"],
    awaited: ["Pay"],
    results: { release: [{ value: undefined }] },
    properties: {
      "charges at most once": never(({ executed }) => (executed["charge"] ?? 0) > 1),
      "releases at most once": never(({ executed }) => (executed["release"] ?? 0) > 1),
      "keeps no money of a cancelled payment": never(
        ({ state, executed, pending }) =>
          state._tag === "Cancelled" && pending.length === 0 && (executed["charge"] ?? 0) > (executed["release"] ?? 0),
      ),
      "loses no result": never(({ lostResults }) => lostResults.length > 0),
      ends: alwaysEventually(({ status }) => status === "final"),
    },
  })
}

/** A request that two different people approve within a week. It is escalated after two days. */
export const checkApproval = (mistake?: string): CheckReport => {
  const S = State({
    Waiting: { first: Schema.String, reminders: Schema.Int },
    Escalated: {},
    Approved: { first: Schema.String, second: Schema.String },
    Rejected: {},
    Archived: {},
  })
  const E = Event({ Approve: { by: Schema.Literals(["ada", "bob"]) }, Reject: {}, Remind: {}, Archive: {}, Escalate: {} })
  const machine = Machine.make({ name: "approval", state: S, event: E, initial: S.Waiting({ first: "", reminders: 0 }) })
    .enter(S.Waiting, ({ after }) => after("escalation", "2 days", E.Escalate()))
    .on(S.Waiting, E.Approve, [S.Waiting, S.Approved], ({ state, event, cancel }) => {
      if (state.first === "") return S.Waiting({ ...state, first: event.by })
      if (event.by === state.first && mistake !== "counts one person twice") return S.Waiting(state)
      if (mistake !== "forgets the delayed escalation") cancel("escalation")
      return S.Approved({ first: state.first, second: event.by })
    })
    .on(S.Waiting, E.Reject, S.Rejected)
    .on([S.Approved, S.Escalated], E.Approve, [stay, S.Approved], ({ state, event }) =>
      mistake === "approves alone after an escalation" && state._tag === "Escalated"
        ? S.Approved({ first: event.by, second: event.by })
        : stay,
    )
    .on([S.Waiting, S.Escalated, S.Approved], E.Escalate, [stay, S.Escalated], ({ state }) =>
      state._tag === "Waiting" || mistake === "forgets the delayed escalation" ? S.Escalated() : stay,
    )
    .on(S.Escalated, E.Reject, [S.Rejected, stay], () => (mistake === "cannot leave an escalation" ? stay : S.Rejected()))
    .timeout(
      S.Escalated,
      () => (mistake === "has no deadline for an escalation" ? Number.POSITIVE_INFINITY : "5 days"),
      [S.Rejected, stay],
      () => (mistake === "cannot leave an escalation" ? stay : S.Rejected()),
    )
    .on(S.Approved, E.Archive, S.Archived)
    .timeout(S.Waiting, "1 day", [S.Waiting], ({ state }) => S.Waiting({ ...state, reminders: Math.min(3, state.reminders + 1) }), {
      name: "reminder",
    })
    .timeout(S.Waiting, "7 days", S.Rejected, () => S.Rejected(), { name: "deadline" })
    .final(S.Rejected, S.Archived)
  const reminded =
    mistake === "restarts its deadlines with every reminder" ? machine.reenter(S.Waiting, E.Remind) : machine.on(S.Waiting, E.Remind, stay)
  return check(reminded, {
    events: ["Approve", "Reject", "Archive", "Remind"],
    awaited: ["Archive"],
    properties: {
      "two people approve": never(({ state }) => state._tag === "Approved" && state.first === state.second),
      "an approved request is archived": leadsTo(
        ({ state }) => state._tag === "Approved",
        ({ state }) => state._tag === "Archived",
      ),
      ends: alwaysEventually(({ status }) => status === "final"),
    },
  })
}

/** A flight and a hotel are booked at the same time. Where one of them fails, the other one is cancelled. */
export const checkTrip = (mistake?: string): CheckReport => {
  const part = Schema.Literals(["asked", "booked", "failed"])
  const S = State({
    Booking: { flight: part, hotel: part },
    Cancelling: { left: Schema.Int },
    Booked: {},
    Failed: {},
  })
  const E = Event({ FlightBooked: {}, FlightFailed: {}, HotelBooked: {}, HotelFailed: {}, PartCancelled: {} })
  const effects = Slot.Effects({ flight: {}, hotel: {}, cancelFlight: {}, cancelHotel: {} })
  const machine = Machine.make({ name: "trip", state: S, event: E, effects, initial: S.Booking({ flight: "asked", hotel: "asked" }) })
    .enter(S.Booking, ({ effects, other }) => {
      if (other !== undefined) return
      effects.flight()
      effects.hotel()
    })
    .on(S.Booking, [E.FlightBooked, E.FlightFailed, E.HotelBooked, E.HotelFailed], [S.Booking, S.Booked], ({ state, event }) => {
      switch (event._tag) {
        case "FlightBooked":
          return mistake === "waits for the flight only" ? S.Booked() : S.Booking({ ...state, flight: "booked" })
        case "FlightFailed":
          return S.Booking({ ...state, flight: "failed" })
        case "HotelBooked":
          return S.Booking({ ...state, hotel: "booked" })
        case "HotelFailed":
          return S.Booking({ ...state, hotel: mistake === "takes a failed hotel for a booked one" ? "booked" : "failed" })
      }
    })
    .always(
      S.Booking,
      ({ state }) =>
        mistake === "cancels before the other answer has come"
          ? state.flight === "failed" || state.hotel === "failed"
          : state.flight !== "asked" && state.hotel !== "asked",
      [S.Booked, S.Cancelling, S.Failed],
      ({ state, effects }) => {
        if (state.flight === "booked" && state.hotel === "booked") return S.Booked()
        // A booking that was given up may have taken place, so it is cancelled too.
        effects.cancelFlight()
        if (mistake === "cancels only what was booked" && state.hotel !== "booked") return S.Cancelling({ left: 1 })
        effects.cancelHotel()
        return S.Cancelling({ left: mistake === "counts the cancelled parts wrongly" ? 3 : 2 })
      },
    )
    .on(S.Cancelling, E.PartCancelled, [S.Cancelling, S.Failed], ({ state }) =>
      state.left > 1 && mistake !== "ends at the first cancelled part" ? S.Cancelling({ left: state.left - 1 }) : S.Failed(),
    )
    .final(S.Booked, S.Failed)
    .commands({
      flight: { onSuccess: () => E.FlightBooked(), onFailure: () => E.FlightFailed() },
      hotel: { onSuccess: () => E.HotelBooked(), onFailure: () => E.HotelFailed() },
      cancelFlight: { onSuccess: () => E.PartCancelled() },
      cancelHotel: { onSuccess: () => E.PartCancelled() },
    })
  return check(machine, {
    events: [],
    results: { cancelFlight: [{ value: undefined }], cancelHotel: [{ value: undefined }] },
    properties: {
      "a booked trip has both parts": never(
        ({ state, executed }) => state._tag === "Booked" && (executed["flight"] === 0 || executed["hotel"] === 0),
      ),
      "a failed trip keeps no part": never(
        ({ state, executed, pending }) =>
          state._tag === "Failed" &&
          pending.length === 0 &&
          ((executed["flight"] ?? 0) > (executed["cancelFlight"] ?? 0) || (executed["hotel"] ?? 0) > (executed["cancelHotel"] ?? 0)),
      ),
      "loses no result": never(({ lostResults }) => lostResults.length > 0),
      ends: alwaysEventually(({ status }) => status === "final"),
    },
  })
}

/** A lock that two senders want. It is freed after a minute. */
export const checkLock = (mistake?: string): CheckReport => {
  const who = Schema.Literals(["ada", "bob"])
  const S = State({ Free: {}, Held: { by: who } })
  const E = Event({ Acquire: { who }, Release: { who } })
  const effects = Slot.Effects({ grantAda: {}, grantBob: {}, endAda: {}, endBob: {} })
  const machine = Machine.make({ name: "lock", state: S, event: E, effects, initial: S.Free() })
    .on(S.Free, E.Acquire, S.Held, ({ event, effects }) => {
      if (event.who === "ada") effects.grantAda()
      else effects.grantBob()
      return S.Held({ by: event.who })
    })
    .on(S.Held, E.Acquire, [S.Held, stay], ({ state, event, effects }) => {
      if (mistake !== "gives a held lock away" || event.who === state.by) return stay
      if (event.who === "ada") effects.grantAda()
      else effects.grantBob()
      return S.Held({ by: event.who })
    })
    .on(S.Held, E.Release, [S.Free, stay], ({ state, event, effects }) => {
      if (event.who !== state.by && mistake !== "lets anybody release it") return stay
      if (event.who === "ada") effects.endAda()
      else effects.endBob()
      return S.Free()
    })
    .timeout(
      S.Held,
      () => (mistake === "has no deadline" ? Number.POSITIVE_INFINITY : "1 minute"),
      S.Free,
      ({ state, effects }) => {
        if (mistake === "does not end the stay of a holder that is late") return S.Free()
        if (state.by === "ada") effects.endAda()
        else effects.endBob()
        return S.Free()
      },
    )
  const holds = (executed: { readonly [slot: string]: number }, name: "Ada" | "Bob") =>
    (executed[`grant${name}`] ?? 0) - (executed[`end${name}`] ?? 0)
  const done = [{ value: undefined }]
  return check(machine, {
    senders: [
      [E.Acquire({ who: "ada" }), E.Release({ who: "ada" })],
      // It never releases the lock.
      [E.Acquire({ who: "bob" })],
    ],
    results: { grantAda: done, grantBob: done, endAda: done, endBob: done },
    // Effects of one commit take place before the next event: this is about who holds the lock, not about slow messages.
    faults: { crashes: false, repeatedEffects: false },
    properties: {
      "has one holder": never(({ executed, pending }) => pending.length === 0 && holds(executed, "Ada") > 0 && holds(executed, "Bob") > 0),
      "no stay ends before it began": never(({ executed }) => holds(executed, "Ada") < 0 || holds(executed, "Bob") < 0),
      "becomes free": alwaysEventually(({ state }) => state._tag === "Free"),
    },
  })
}

/** A list that one sender fills and another one closes: what comes too late must not be lost. */
export const checkList = (mistake?: string): CheckReport => {
  const S = State({ Loading: {}, Open: { items: Schema.Int, expected: Schema.Int }, Closed: { items: Schema.Int } })
  const E = Event({ Loaded: {}, Add: {}, Close: { expected: Schema.Int }, Tick: {} })
  const machine = Machine.make({ name: "list", state: S, event: E, initial: S.Loading() })
    .on(S.Loading, E.Loaded, S.Open, ({ self }) => {
      if (mistake === "sends itself events without end") self.send(E.Tick())
      return S.Open({ items: 0, expected: 9 })
    })
    .on(S.Open, E.Tick, stay, ({ self }) => {
      self.send(E.Tick())
      self.send(E.Tick())
      return stay
    })
    .on(S.Open, E.Add, [S.Open, S.Closed], ({ state }) => {
      if (mistake === "throws on the second item" && state.items === 1) throw new Error("no room for a second item")
      const items = mistake === "leaves its schema" ? state.items + 0.5 : state.items + 1
      return items === state.expected ? S.Closed({ items }) : S.Open({ ...state, items })
    })
    .on(S.Open, E.Close, [S.Open, S.Closed], ({ state, event }) =>
      state.items === event.expected || mistake === "closes before all items have come"
        ? S.Closed({ items: state.items })
        : S.Open({ ...state, expected: event.expected }),
    )
    .final(S.Closed)
  const sound = mistake === "refuses what comes before it has loaded" ? machine : machine.postpone(S.Loading, [E.Add, E.Close])
  return check(sound, {
    senders: [[E.Loaded()], [E.Add(), E.Add()], [E.Close({ expected: 2 })]],
    properties: {
      "closes with all items": alwaysEventually(({ state }) => state._tag === "Closed" && state.items === 2),
    },
  })
}
