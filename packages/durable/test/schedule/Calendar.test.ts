/** Nominal times over both changes of the clock, and what is refused as a time. */

import { Event, Machine, State } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { schedule, startInstance } from "../../src/Schedules.ts"
import { type Calendar, calendarOf, dueTimes, type Timing } from "../../src/schedule/Calendar.ts"

const made = (timing: Timing): Calendar => Result.getOrThrow(calendarOf(timing))

const cron = (expression: string, timezone = "UTC") => made({ _tag: "Cron", cron: expression, timezone })

/** The next times after an instant. */
const times = (calendar: Calendar, after: string, count: number) => {
  const found: Array<string> = []
  for (let at = Date.parse(after); found.length < count; ) {
    at = calendar.next(at) ?? Number.NaN
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"))
  }
  return found
}

describe("daylight saving", () => {
  it("a time that does not exist runs once, at the jump", () => {
    const at = (expression: string, count: number) => times(cron(expression, "Europe/Berlin"), "2027-03-27T12:00:00Z", count)
    expect(at("30 2 * * *", 3)).toEqual(["2027-03-28T01:00Z", "2027-03-29T00:30Z", "2027-03-30T00:30Z"])
    expect(at("*/20 2 * * *", 3)).toEqual(["2027-03-28T01:00Z", "2027-03-29T00:00Z", "2027-03-29T00:20Z"])
    expect(at("0 2,3 * * *", 3)).toEqual(["2027-03-28T01:00Z", "2027-03-29T00:00Z", "2027-03-29T01:00Z"])
    expect(at("30 1,2,3 * * *", 4)).toEqual(["2027-03-28T00:30Z", "2027-03-28T01:00Z", "2027-03-28T01:30Z", "2027-03-28T23:30Z"])
  })

  it("a time that exists twice runs once, the first time", () => {
    const at = (expression: string, count: number) => times(cron(expression, "Europe/Berlin"), "2027-10-30T12:00:00Z", count)
    expect(at("30 2 * * *", 3)).toEqual(["2027-10-31T00:30Z", "2027-11-01T01:30Z", "2027-11-02T01:30Z"])
    expect(at("*/30 2-3 * * *", 5)).toEqual([
      "2027-10-31T00:00Z",
      "2027-10-31T00:30Z",
      "2027-10-31T02:00Z",
      "2027-10-31T02:30Z",
      "2027-11-01T01:00Z",
    ])
  })

  it("an expression for every hour follows the hours as they pass, in both directions", () => {
    const quarters = cron("*/15 * * * *", "Europe/Berlin")
    for (const change of ["2027-03-28T00:00:00Z", "2027-10-31T00:00:00Z"]) {
      const from = Date.parse(change)
      const expected = Array.from({ length: 12 }, (_, n) => new Date(from + (n + 1) * 900_000).toISOString().replace(":00.000Z", "Z"))
      expect(times(quarters, change, 12)).toEqual(expected)
    }
  })

  it("zones that jump by half an hour, over midnight, and to the south of the equator", () => {
    expect(times(cron("15 2 * * *", "Australia/Lord_Howe"), "2027-10-02T00:00:00Z", 2)).toEqual(["2027-10-02T15:30Z", "2027-10-03T15:15Z"])
    expect(times(cron("45 1 * * *", "Australia/Lord_Howe"), "2027-04-03T00:00:00Z", 2)).toEqual(["2027-04-03T14:45Z", "2027-04-04T15:15Z"])
    expect(times(cron("30 0 * * *", "America/Havana"), "2027-03-13T12:00:00Z", 2)).toEqual(["2027-03-14T05:00Z", "2027-03-15T04:30Z"])
  })

  it("times only grow, and every local time that exists is found, over two years of each zone", () => {
    for (const zone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu", "UTC"]) {
      const calendar = cron("15 0,2,9 * * *", zone)
      const [from, to] = [Date.UTC(2027, 0, 1), Date.UTC(2029, 0, 1)]
      const perDay = new Map<string, number>()
      for (let at = from; ; ) {
        const next = calendar.next(at) as number
        expect(next).toBeGreaterThan(at)
        if (next > to) break
        perDay.set(calendar.day(next), (perDay.get(calendar.day(next)) ?? 0) + 1)
        at = next
      }
      const days = [...perDay].slice(1, -1)
      expect(days.filter(([, count]) => count !== 3)).toEqual([])
    }
  })

  it("the day is that of the zone", () => {
    const berlin = cron("30 0 * * *", "Europe/Berlin")
    expect(berlin.day(Date.parse("2026-11-18T23:30:00Z"))).toBe("2026-11-19")
    expect(cron("30 0 * * *").day(Date.parse("2026-11-18T23:30:00Z"))).toBe("2026-11-18")
  })
})

describe("times that have come", () => {
  it("are the latest hundred, however long no process ran, at a bounded cost", () => {
    const every = made({ _tag: "Every", millis: 1000 })
    const now = 3_000_000_000_500
    const first = now - 500 - 86_400_000 * 30
    let asked = 0
    const counting: Calendar = {
      ...every,
      next: (after) => {
        asked++
        return every.next(after)
      },
    }
    const { times: found } = dueTimes(counting, first, (at) => at <= now, now, 100)
    expect(found).toEqual(Array.from({ length: 100 }, (_, n) => now - 500 - (99 - n) * 1000))
    expect(asked).toBeLessThan(10_000)
    const day = dueTimes(every, now - 500 - 86_400_000, (at) => at <= now, now, 100)
    expect(day.times.at(-1)).toBe(now - 500)
    expect(dueTimes(every, now - 4500, (at) => at <= now, now, 100)).toMatchObject({ count: 5, first: now - 4500 })
  })
})

describe("what is refused", () => {
  const S = State({ Open: {} })
  const Close = Machine.make({ name: "close", state: S, event: Event({ Never: {} }), initial: S.Open() })
  const start = () => startInstance(Close, "close")

  it.each([
    [{ cron: "0 2 * *" }, /is no cron expression: .*; write five fields/],
    [{ cron: "61 2 * * *" }, /is no cron expression: .*between 0 and 59.*write five fields/],
    [{ cron: "x".repeat(2000) }, /more than 1,000 characters; write five fields/],
    [{ cron: "0 0 30 2 *" }, /names a date that never comes; correct its day or its month/],
    [{ cron: "0 2 * * *", timezone: "Europe/Berln" }, /"Europe\/Berln" is no known time zone; write a name of the IANA database/],
    [{ cron: "0 2 * * *", timezone: "" }, /is no known time zone/],
    [{ every: "10 millis" }, /its interval is .*; write a time between 1 second and a year/],
    [{ every: "soon" as never }, /its interval is .*; write a time between 1 second and a year/],
    [{ cron: "0 2 * * *", every: "1 hour" } as never, /a cron expression and an interval; give it either cron/],
    [{} as never, /it has no times; give it either cron/],
    [{ every: "1 hour", overlap: "sometimes" as never }, /its overlap is .*; choose one of skip, queue, cancelPrevious, allow/],
    [{ every: "1 hour", catchUp: "some" as never }, /its catchUp is .*; choose one of none, latest, all/],
    [{ every: "1 hour", jitter: "2000 days" }, /its jitter is .*; write a time of at most a year/],
  ])("%o", (settings, problem) => {
    expect(() => schedule("nightly", { ...(settings as { readonly cron: string }), start })).toThrow(problem)
    expect(() => schedule("nightly", { ...(settings as { readonly cron: string }), start })).toThrow(/^.*schedule nightly: /)
  })

  it("a name that no instance can have", () => {
    expect(() => schedule("", { every: "1 hour", start })).toThrow(/it has no name; name it/)
    expect(() => schedule("n".repeat(300), { every: "1 hour", start })).toThrow(/name it in at most 200 characters/)
  })
})
