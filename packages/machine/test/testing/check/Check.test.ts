import { Event, Machine, refuse, Slot, State, stay } from "@detent/machine"
import { Mermaid } from "@detent/machine/diagram"
import { alwaysEventually, assertPath, check, formatCheck, leadsTo, never, unproved } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const S = State({ Open: { total: Schema.Int }, Charging: { total: Schema.Int }, Paid: {}, Cancelled: {} })
const E = Event({ Pay: {}, Cancel: {}, Charged: {}, Failed: {} })
const effects = Slot.Effects({ charge: { total: Schema.Int } })
const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open({ total: 42 }) })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ total: state.total })
    return S.Charging.derive(state)
  })
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Charging, E.Failed, S.Open, ({ state }) => S.Open.derive(state))
  .on([S.Open, S.Charging], E.Cancel, S.Cancelled)
  .timeout(S.Open, "30 minutes", S.Cancelled, () => S.Cancelled())
  .final(S.Paid, S.Cancelled)
  .commands({ charge: { onSuccess: () => E.Charged(), onFailure: () => E.Failed() } })

const paidNothing = never<typeof S.Type>(({ state, executed }) => state._tag === "Cancelled" && (executed["charge"] ?? 0) > 0)
const events = ["Pay", "Cancel"] as const
const broken = () => check(Order, { events, properties: { "a cancelled order is not charged": paidNothing } })
const counterexampleOf = (report: ReturnType<typeof broken>) => {
  const found = report.properties.find(({ verdict }) => verdict === "violated")?.counterexample
  if (found === undefined) throw new Error(formatCheck(report))
  return found
}

describe("a counterexample", () => {
  it("is a shortest one, step by step", () => {
    const { start, steps, problem } = counterexampleOf(broken())
    expect(start).toContain("Open")
    expect(steps.map(({ state }) => state)).toEqual(["Charging", "Charging", "Cancelled"])
    expect(steps[1]?.action).toBe("charge takes effect, and its process dies before the result is recorded")
    expect(problem).toBe("this must never be")
  })

  it("without faults takes the way that remains, or there is none", () => {
    const faults = { crashes: false, repeatedEffects: false, reorderedEvents: false, timerRaces: false }
    const report = check(Order, { events, faults, properties: { "a cancelled order is not charged": paidNothing } })
    expect(unproved(report)).toEqual([])
  })

  it("is a trace that diagrams draw", () => {
    const { trace } = counterexampleOf(broken())
    expect(trace).toMatchObject({ initial: "Open", current: "Cancelled" })
    expect(trace.steps.map(({ event, to }) => `${event} → ${to}`)).toEqual(["Pay → Charging", "Cancel → Cancelled"])
    expect(Mermaid.stateDiagram(Order, { trace })).toContain("●")
    expect(Mermaid.sequence(trace)).toContain("Cancel")
  })

  it("is a test to paste, which fails as long as the machine takes this way", () => {
    const late = check(Order, {
      events: ["Pay"],
      properties: { "is never cancelled by the timeout": never(({ state }) => state._tag === "Cancelled") },
    })
    const { test } = counterexampleOf(late)
    expect(test).toContain("advance(1800000)")
    // What the pasted lines do.
    expect(() => assertPath(Order, S.Open({ total: 42 }), [{ _tag: "@advance", millis: 1_800_000 }], ["Open", "Cancelled"])).not.toThrow()
    expect(test).toContain('{"_tag":"Open","total":42}')
    expect(test).toContain('["Open","Cancelled"]')
  })

  it("says how a run goes on for ever", () => {
    const report = check(Order, {
      events: ["Pay"],
      awaited: ["Pay"],
      properties: { "is paid": alwaysEventually(({ state }) => state._tag === "Paid") },
    })
    const { loop, problem } = counterexampleOf(report)
    expect(problem).toMatch(/the goal (never comes|has not come)/)
    expect(loop.length === 0 || loop.some(({ action }) => action.includes("charge"))).toBe(true)
  })

  it("hides the values of sensitive fields", () => {
    const Login = State({ Out: { name: Schema.String }, In: {} })
    const Enter = Event({ Enter: { password: Event.sensitive(Schema.Literal("secret-1")) } })
    const login = Machine.make({ name: "login", state: Login, event: Enter, initial: Login.Out({ name: "ada" }) }).on(
      Login.Out,
      Enter.Enter,
      Login.In,
    )
    const report = check(login, { properties: { never: never(({ state }) => state._tag === "In") } })
    expect(formatCheck(report)).toContain("Enter")
    expect(formatCheck(report)).not.toContain("secret-1")
  })
})

describe("a check", () => {
  it("is the same for the same machine and options", () => {
    expect(broken()).toEqual(broken())
  })

  it("is undecided where it stops at its limit, and says so", () => {
    const Counting = State({ At: { n: Schema.Int } })
    const Count = Event({ Add: {} })
    const counter = Machine.make({ name: "counter", state: Counting, event: Count, initial: Counting.At({ n: 0 }) }).on(
      Counting.At,
      Count.Add,
      Counting.At,
      ({ state }) => Counting.At({ n: state.n + 1 }),
    )
    const report = check(counter, { limit: 100, properties: { small: never(({ state }) => state.n > 1000) } })
    expect(report.properties.map(({ verdict }) => verdict)).toEqual(["undecided", "undecided", "undecided"])
    expect(report.notes.join()).toContain("pass a higher { limit }")
    expect(formatCheck(report)).toContain("not everything was visited")
    const found = check(counter, { limit: 2000, properties: { small: never(({ state }) => state.n > 1000) } })
    expect(found.properties.at(-1)?.verdict).toBe("violated")
    expect(found.properties.at(-1)?.counterexample?.steps).toHaveLength(1001)
  })

  it("answers guards without an implementation in both ways", () => {
    const Door = State({ Shut: {}, Open: {}, Locked: {} })
    const Push = Event({ Push: {} })
    const guards = Slot.Guards({ locked: {} })
    const door = Machine.make({ name: "door", state: Door, event: Push, guards, initial: Door.Shut() }).on(
      Door.Shut,
      Push.Push,
      [Door.Open, Door.Locked],
      ({ guards }) => (guards.locked() ? Door.Locked() : Door.Open()),
    )
    const reaches = (tag: string, given?: { readonly locked: () => boolean }) =>
      check(door, {
        ...(given === undefined ? {} : { guards: given }),
        properties: { never: never(({ state }) => state._tag === tag) },
      }).properties.at(-1)?.verdict
    expect([reaches("Open"), reaches("Locked")]).toEqual(["violated", "violated"])
    expect([reaches("Open", { locked: () => true }), reaches("Locked", { locked: () => true })]).toEqual(["holds", "violated"])
  })

  it("fires timers in the order of their deadlines where they were set together, and in any order otherwise", () => {
    const T = State({ Waiting: { events: Schema.Array(Schema.String) }, Again: {} })
    const Timed = Event({ Short: {}, Long: {}, Set: {} })
    const machine = Machine.make({ name: "timed", state: T, event: Timed, initial: T.Waiting({ events: [] }) })
      .enter(T.Waiting, ({ after, other }) => {
        if (other !== undefined) return
        after("long", "2 hours", Timed.Long())
      })
      .on(T.Waiting, Timed.Set, stay, ({ after, state }) => {
        if (state.events.length === 0) after("short", "1 hour", Timed.Short())
        return state.events.length === 0 ? stay : refuse("too late")
      })
      .on(T.Waiting, [Timed.Short, Timed.Long], T.Waiting, ({ state, event }) => T.Waiting({ events: [...state.events, event._tag] }))
    const orders = (together: boolean) => {
      const seen = new Set<string>()
      const look = never<typeof T.Type>(({ state }) => {
        if (state._tag === "Waiting" && state.events.length === 2) seen.add(state.events.join())
        return false
      })
      check(machine, { senders: [together ? [] : [Timed.Set()]], properties: { look } })
      return [...seen].sort()
    }
    expect(orders(false)).toEqual(["Long,Short", "Short,Long"])
    expect(orders(true)).toEqual([])
  })

  it("relies on awaited events only where they are named", () => {
    const properties = {
      ends: leadsTo<typeof S.Type>(
        ({ state }) => state._tag === "Charging",
        ({ status }) => status === "final",
      ),
    }
    const results = { charge: [{ value: undefined }] }
    expect(check(Order, { events: ["Pay"], results, properties }).properties.at(-1)?.verdict).toBe("holds")
    const stuck = check(Order, { events: ["Cancel"], starts: [S.Charging({ total: 1 })], results, properties })
    expect(stuck.properties.at(-1)?.verdict).toBe("violated")
    const awaited = check(Order, { events: ["Cancel"], awaited: ["Cancel"], starts: [S.Charging({ total: 1 })], results, properties })
    expect(awaited.properties.at(-1)?.verdict).toBe("holds")
  })

  it("lets the work of a state send its events, sooner or later", () => {
    const properties = { ends: alwaysEventually<typeof S.Type>(({ status }) => status === "final") }
    const starts = [S.Charging({ total: 1 })]
    expect(check(Order, { events: [], starts, properties }).properties.at(-1)?.verdict).toBe("violated")
    const work = (state: typeof S.Type) => (state._tag === "Charging" ? [E.Charged(), E.Failed()] : [])
    expect(check(Order, { events: [], starts, work, properties }).properties.at(-1)?.verdict).toBe("holds")
  })

  it("refuses what the machine does not have, with what it has", () => {
    const properties = {}
    expect(() => check(Order, { properties, events: ["Nope" as "Pay"] })).toThrow(/Nope is no event of it; its events are Pay, Cancel/)
    expect(() => check(Order, { properties, events: [{ _tag: "Nope" } as never] })).toThrow(/Nope is no event of it/)
    expect(() => check(Order, { properties, results: { nope: [] } })).toThrow(/nope is no effect slot of it; its effect slots are charge/)
    const FromInput = Machine.make({ name: "from input", state: S, event: E, effects, initial: (total: number) => S.Open({ total }) })
    expect(() => check(FromInput, { properties })).toThrow(/pass \{ starts: \[input\] \}/)
  })
})
