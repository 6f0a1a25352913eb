/**
 * A document that is written, reviewed by several people, published and finally archived. It shows how to keep larger
 * machines small: groups of states and of events, a rule for a group with an exception, postponed events, and questions
 * with answers.
 *
 * Run it: `npx node examples/document/Document.ts`
 */
import { Event, Machine, reply, State, spawn, stay } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const document = { title: Schema.String, author: Schema.String, revision: Schema.Int }

// Groups name states for transitions, tests and diagrams. A document is always in a leaf, such as LegalReview.
export const S = State({
  Draft: { ...document, remarks: Schema.Array(Schema.String) },
  InReview: State.group({
    PeerReview: document,
    Compliance: State.group({
      LegalReview: document,
      BrandReview: document,
    }),
  }),
  Approved: document,
  Published: { ...document, url: Schema.String },
  Archived: { ...document, reason: Schema.String },
})

export const Status = Schema.Struct({ title: Schema.String, stage: Schema.String, waitsFor: Schema.String })

export const E = Event({
  Edit: { title: Schema.String },
  Submit: {},
  Verdict: Event.group({
    Approve: {},
    RequestChanges: { remark: Schema.String },
  }),
  Publish: { url: Schema.String },
  Cancel: {},
  Removal: Event.group({
    Archive: { reason: Schema.String },
    Retract: { reason: Schema.String },
  }),
  GetStatus: Event.reply({}, Status),
})

export const Document = Machine.make({
  name: "document",
  state: S,
  event: E,
  initial: (input: { readonly title: string; readonly author: string }) => S.Draft({ ...input, revision: 1, remarks: [] }),
  initialState: S.Draft,
})
  .on(S.Draft, E.Edit, S.Draft, ({ state, event }) => S.Draft.derive(state, { title: event.title, revision: state.revision + 1 }))
  .on(S.Draft, E.Submit, S.PeerReview)

  // The steps of the review. A request for changes, in any of them, sends the document back to its author.
  .on(S.PeerReview, E.Approve, S.LegalReview)
  .on(S.LegalReview, E.Approve, S.BrandReview)
  .on(S.BrandReview, E.Approve, S.Approved)
  .on(S.InReview, E.RequestChanges, S.Draft, ({ state, event }) => S.Draft.derive(state, { remarks: [event.remark] }))

  // The author may withdraw it at any time, but a document that the lawyers have seen is archived for them.
  .on(S.InReview, E.Cancel, S.Draft, ({ state }) => S.Draft.derive(state, { remarks: [] }))
  .on(S.LegalReview, E.Cancel, S.Archived, ({ state }) => S.Archived.derive(state, { reason: "cancelled during the legal review" }), {
    override: true,
  })

  // A publisher may send this event early: it is postponed until a state handles it.
  .postpone(S.InReview, E.Publish)
  .on(S.Approved, E.Publish, S.Published)

  // One line for every combination of the states and the events of the group.
  .on([S.Draft, S.Approved, S.Published], E.Removal, S.Archived)

  // A verdict after the decision is too late, but not an error of the sender.
  .on([S.Approved, S.Published], E.Verdict, stay)

  // Any state that is not final answers this. The answer's type comes from the event.
  .onAny(E.GetStatus, stay, ({ state }) => reply({ title: state.title, stage: state._tag, waitsFor: waitsFor(state) }))
  .final(S.Archived)

/** The person or team that acts next. */
const waitsFor: (state: typeof S.Type) => string = S.$match({
  Draft: ({ author }) => author,
  PeerReview: () => "a colleague",
  LegalReview: () => "the lawyers",
  BrandReview: () => "the brand desk",
  Approved: () => "a publisher",
  Published: () => "nobody",
  Archived: () => "nobody",
})

const main = Effect.gen(function* () {
  const document = yield* spawn(Document, { title: "On Detents", author: "Ada" })
  document.subscribe((state) => console.log(`→ ${state._tag}`))
  const tellStatus = Effect.flatMap(document.ask(E.GetStatus()), ({ stage, waitsFor }) => Console.log(`? ${stage}, waits for ${waitsFor}`))

  yield* document.send(E.Submit())
  yield* document.send(E.RequestChanges({ remark: "who is the reader?" }))
  yield* document.send(E.Edit({ title: "On Detents, for Engineers" }))
  yield* document.send(E.Submit())
  yield* Console.log("! Publish, sent early: it is postponed")
  yield* Effect.forkChild(document.send(E.Publish({ url: "https://example.org/detents" })), { startImmediately: true })
  yield* tellStatus
  yield* document.send(E.Approve())
  yield* document.send(E.Approve())
  yield* tellStatus
  yield* document.send(E.Approve())
  yield* document.send(E.Archive({ reason: "second edition" }))
  yield* Console.log("the end:", yield* document.awaitFinal)
})

if (import.meta.main) await Effect.runPromise(Effect.scoped(main))
