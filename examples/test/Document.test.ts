import { Machine, spawn } from "@detent/machine"
import { assertNeverReaches } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Document, E, S } from "../document/Document.ts"

const content = { title: "On Detents", author: "Ada", revision: 1 }
const write = spawn(Document, { title: "On Detents", author: "Ada" })
const url = "https://example.org/detents"

/** The state that an event leads to, or the tag of the decision. */
const leadsTo = (state: typeof S.Type, event: typeof E.Type) => {
  const decision = Machine.decide(Document, state, event)
  return decision._tag === "Goto" ? decision.state : decision._tag
}

describe("a document", () => {
  it.effect("is published after three approvals", () =>
    Effect.gen(function* () {
      const document = yield* write
      yield* document.send(E.Submit())
      for (const desk of ["PeerReview", "LegalReview", "BrandReview"]) {
        expect((yield* document.state)._tag).toBe(desk)
        yield* document.send(E.Approve())
      }
      yield* document.send(E.Publish({ url }))
      expect(yield* document.state).toEqual(S.Published({ ...content, url }))
    }),
  )

  it.effect("is not published by a postponed event after it went back to its author", () =>
    Effect.sync(() => {
      const events = [E.Submit(), E.Publish({ url }), E.Approve(), E.RequestChanges({ remark: "too long" })]
      const { refusals } = assertNeverReaches(Document, { title: "On Detents", author: "Ada" }, events, "Published")
      expect(refusals.map(({ event }) => event._tag)).toEqual(["Publish"])
    }),
  )

  it.effect("counts its revisions", () =>
    Effect.gen(function* () {
      const document = yield* write
      yield* document.send(E.Edit({ title: "About Detents" }))
      expect(yield* document.state).toMatchObject({ title: "About Detents", revision: 2 })
    }),
  )

  it.effect.each([S.PeerReview(content), S.LegalReview(content), S.BrandReview(content)])(
    "goes back to its author with remarks: %o",
    (state) =>
      Effect.sync(() => {
        expect(leadsTo(state, E.RequestChanges({ remark: "too long" }))).toEqual(S.Draft({ ...content, remarks: ["too long"] }))
      }),
  )

  it.effect("can be taken back during the review, except from the lawyers", () =>
    Effect.sync(() => {
      expect(leadsTo(S.PeerReview(content), E.Cancel())).toEqual(S.Draft({ ...content, remarks: [] }))
      expect(leadsTo(S.BrandReview(content), E.Cancel())).toEqual(S.Draft({ ...content, remarks: [] }))
      expect(leadsTo(S.LegalReview(content), E.Cancel())).toEqual(S.Archived({ ...content, reason: "cancelled during the legal review" }))
    }),
  )

  it.effect("is published immediately after the last approval where the event was sent early", () =>
    Effect.gen(function* () {
      const document = yield* write
      yield* document.send(E.Submit())
      const published = yield* Effect.forkChild(document.send(E.Publish({ url })), { startImmediately: true })
      yield* document.send(E.Approve())
      yield* document.send(E.Approve())
      expect((yield* document.state)._tag).toBe("BrandReview")
      yield* document.send(E.Approve())
      expect((yield* document.state)._tag).toBe("Published")
      yield* Fiber.join(published)
    }),
  )

  it.effect("refuses a postponed publication after it was withdrawn", () =>
    Effect.gen(function* () {
      const document = yield* write
      yield* document.send(E.Submit())
      const published = yield* Effect.forkChild(Effect.flip(document.send(E.Publish({ url }))), { startImmediately: true })
      yield* document.send(E.Cancel())
      expect(yield* Fiber.join(published)).toMatchObject({ _tag: "InvalidTransition", state: "Draft", event: "Publish" })
    }),
  )

  it.effect.each([E.Archive({ reason: "old" }), E.Retract({ reason: "old" })])("is archived by either kind of removal: %o", (event) =>
    Effect.sync(() => {
      const archived = S.Archived({ ...content, reason: "old" })
      expect(leadsTo(S.Draft({ ...content, remarks: [] }), event)).toEqual(archived)
      expect(leadsTo(S.Approved(content), event)).toEqual(archived)
      expect(leadsTo(S.Published({ ...content, url }), event)).toEqual(archived)
      expect(leadsTo(S.PeerReview(content), event)).toBe("Refused")
    }),
  )

  it.effect.each([E.Approve(), E.RequestChanges({ remark: "wait" })])("does not mind a verdict that comes too late: %o", (event) =>
    Effect.sync(() => {
      expect(leadsTo(S.Approved(content), event)).toBe("Stay")
      expect(leadsTo(S.Published({ ...content, url }), event)).toBe("Stay")
    }),
  )

  it.effect("answers a status question without a change of state", () =>
    Effect.gen(function* () {
      const document = yield* write
      expect(yield* document.ask(E.GetStatus())).toEqual({ title: "On Detents", stage: "Draft", waitsFor: "Ada" })
      yield* document.send(E.Submit())
      yield* document.send(E.Approve())
      expect(yield* document.ask(E.GetStatus())).toEqual({ title: "On Detents", stage: "LegalReview", waitsFor: "the lawyers" })
      expect((yield* document.state)._tag).toBe("LegalReview")
    }),
  )
})
