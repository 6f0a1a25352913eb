import { readFileSync } from "node:fs"
import { join } from "node:path"
import { spawn } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { E, S, Subscription } from "../readme/Subscription.ts"

const subscribed = Effect.gen(function* () {
  const emails: Array<string> = []
  const machine = Subscription.build({
    mayTryAgain: ({ attempts }) => attempts <= 2,
    sendEmail: ({ to, text }) => Effect.sync(() => void emails.push(`${to}: ${text}`)),
  })
  return { subscription: yield* spawn(machine, { email: "ada@example.org" }), emails }
})

describe("the README's subscription", () => {
  it.effect("ends with its trial unless it is subscribed", () =>
    Effect.gen(function* () {
      const { subscription, emails } = yield* subscribed
      yield* TestClock.adjust("14 days")
      expect(yield* subscription.awaitFinal).toEqual(S.Ended({ email: "ada@example.org", reason: "trial over" }))
      expect(emails).toEqual(["ada@example.org: trial over"])
    }),
  )

  it.effect("continues as long as it is paid for", () =>
    Effect.gen(function* () {
      const { subscription } = yield* subscribed
      yield* subscription.send(E.Subscribe({ plan: "yearly" }))
      yield* subscription.send(E.PaymentFailed())
      yield* subscription.send(E.PaymentReceived())
      yield* TestClock.adjust("365 days")
      expect(yield* subscription.state).toEqual(S.Active({ email: "ada@example.org", plan: "yearly" }))
    }),
  )

  it.effect("ends when payments fail too often", () =>
    Effect.gen(function* () {
      const { subscription, emails } = yield* subscribed
      yield* subscription.send(E.Subscribe({ plan: "yearly" }))
      yield* subscription.send(E.PaymentFailed())
      yield* subscription.send(E.PaymentFailed())
      expect(yield* subscription.state).toMatchObject({ _tag: "PastDue", attempts: 2 })
      yield* subscription.send(E.PaymentFailed())
      expect((yield* subscription.awaitFinal)._tag).toBe("Ended")
      expect(emails).toEqual(["ada@example.org: not paid"])
    }),
  )

  it.effect("has thirty lines", () =>
    Effect.sync(() => {
      const source = readFileSync(join(import.meta.dirname, "../readme/Subscription.ts"), "utf8")
      expect(source.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(30)
    }),
  )
})
