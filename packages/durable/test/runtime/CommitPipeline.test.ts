import { PersistenceFailed } from "@detent/machine"
import { Environment } from "@detent/machine/internal"
import type { Commit, CommitOutcome, JournalService } from "@detent/store"
import { expect, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { CommitPipeline } from "../../src/runtime/CommitPipeline.ts"
import { GroupCommit } from "../../src/runtime/GroupCommit.ts"
import { CommitResolution, type ResolutionOwner, type SentFlight } from "../../src/workflow/CommitResolution.ts"

type Answer = "store" | "conflict" | "fail before storing" | "fail after storing"

/** A journal of one instance: a list of words. Each commit is answered by the next answer, and stored once those have run out. */
class Words implements ResolutionOwner<string, ReadonlyArray<string>> {
  readonly environment: Environment
  readonly journal: Array<string> = []
  readonly commits: Array<ReadonlyArray<string>> = []
  readonly answers: Array<Answer> = []
  readonly refusals: Array<string> = []
  readonly resolution: CommitResolution<string, ReadonlyArray<string>>
  readonly pipeline: CommitPipeline<string>
  /** Words the journal does not take. */
  readonly bad = new Set<string>()
  known = 0
  settledCount = 0
  throwsWhenStored = false

  constructor(context: Context.Context<unknown>) {
    this.environment = new Environment(context)
    const commit = (commits: ReadonlyArray<Commit>) => Effect.suspend(() => Effect.forEach(commits, (one) => this.#write(one)))
    this.resolution = new CommitResolution(new GroupCommit({ commit } as unknown as JournalService, this.environment.run), this)
    this.pipeline = this.resolution.pipeline
  }

  #write({ expected, events }: Commit): Effect.Effect<CommitOutcome, PersistenceFailed> {
    const words = events.map(({ tag }) => tag)
    const outage = new PersistenceFailed({ machine: "words", operation: "commit", cause: new Error("away") })
    this.commits.push(words)
    const answer = this.answers.shift() ?? "store"
    if (answer === "fail before storing") return Effect.fail(outage)
    if (answer === "conflict") this.journal.push("foreign")
    if (expected !== this.journal.length) return Effect.succeed({ _tag: "Conflict", actual: this.journal.length })
    if (words.some((word) => this.bad.has(word))) return Effect.succeed(outage)
    this.journal.push(...words)
    return answer === "fail after storing" ? Effect.fail(outage) : Effect.succeed({ _tag: "Stored" })
  }

  hasMore(): boolean {
    return false
  }

  countTogether(pending: ReadonlyArray<string>): number {
    return pending.length
  }

  commitOf(batch: ReadonlyArray<string>): Commit {
    if (batch.includes("unwritable")) throw new Error("cannot be written")
    return {
      machine: "words",
      id: "1",
      expected: this.known,
      sequence: this.known + batch.length,
      at: 0,
      summary: { tag: "Words", status: "running", reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false },
      origin: undefined,
      events: batch.map((tag, index) => ({ sequence: this.known + index + 1, at: 0, tag, body: "{}", dedupeId: undefined })),
      snapshot: undefined,
      clearTimers: [],
      setTimers: [],
      commands: [],
      fence: undefined,
    }
  }

  readonly read = Effect.sync(() => [...this.journal])

  stored({ batch }: SentFlight<string>) {
    this.known += batch.length
    if (this.throwsWhenStored) throw new Error("a listener failed")
  }

  refused(entry: string | undefined) {
    this.refusals.push(entry ?? "(more)")
  }

  resolve(journaled: ReadonlyArray<string>, { batch }: SentFlight<string>, isUnconfirmed: boolean, since: ReadonlyArray<string>) {
    const isStored = isUnconfirmed && batch.every((word, index) => journaled[this.known + index] === word)
    this.known = journaled.length
    return isStored ? since : [...batch, ...since]
  }

  settled() {
    this.settledCount++
  }
}

const makeWords = Effect.map(Effect.context<never>(), (context) => new Words(context as Context.Context<unknown>))

/** Appends the words one after the other, while commits are under way, and waits until all are stored. */
const write = (words: Words, text: string) =>
  Effect.gen(function* () {
    for (const word of text.split(" ")) {
      words.pipeline.append(word)
      yield* Effect.yieldNow
    }
    for (let turn = 0; turn < 1000 && !words.pipeline.isIdle; turn++) yield* Effect.sleep(1)
    expect(words.pipeline.isIdle).toBe(true)
  })

it.live("entries that gather while a commit is in flight are stored together, in order", () =>
  Effect.gen(function* () {
    const words = yield* makeWords
    for (const word of ["a", "b", "c"]) words.pipeline.append(word)
    yield* write(words, "d e f")
    expect(words.journal).toEqual(["a", "b", "c", "d", "e", "f"])
    expect(words.commits.length).toBeLessThan(6)
    expect(words.settledCount).toBeGreaterThan(0)
  }),
)

for (const answer of ["conflict", "fail before storing", "fail after storing"] as const) {
  it.live(`after "${answer}" what is retried keeps its place, and nothing is stored twice`, () =>
    Effect.gen(function* () {
      const words = yield* makeWords
      words.answers.push(answer, "store", answer, answer)
      yield* write(words, "a b c d e f g")
      expect(words.journal.filter((word) => word !== "foreign")).toEqual(["a", "b", "c", "d", "e", "f", "g"])
    }),
  )
}

it.live("an entry that the store refuses is refused alone", () =>
  Effect.gen(function* () {
    const words = yield* makeWords
    words.bad.add("bad")
    for (const word of ["a", "bad", "b", "c"]) words.pipeline.append(word)
    yield* write(words, "d")
    expect(words.refusals).toEqual(["bad"])
    expect(words.journal).toEqual(["a", "b", "c", "d"])
  }),
)

it.live("an entry that cannot be written as a commit is refused alone", () =>
  Effect.gen(function* () {
    const words = yield* makeWords
    for (const word of ["a", "unwritable", "b"]) words.pipeline.append(word)
    yield* write(words, "c")
    expect(words.refusals).toEqual(["unwritable"])
    expect(words.journal).toEqual(["a", "b", "c"])
  }),
)

it.live("an owner that throws leaves the pipeline usable", () =>
  Effect.gen(function* () {
    const words = yield* makeWords
    words.throwsWhenStored = true
    yield* write(words, "a")
    words.throwsWhenStored = false
    yield* write(words, "b")
    expect(words.journal).toEqual(["a", "b"])
  }),
)

it.live("entries that are dropped before their flush settle the pipeline", () =>
  Effect.gen(function* () {
    const words = yield* makeWords
    words.pipeline.append("a")
    expect(words.pipeline.drop(() => true)).toEqual(["a"])
    for (let turn = 0; turn < 1000 && !words.pipeline.isIdle; turn++) yield* Effect.sleep(1)
    expect([words.pipeline.isIdle, words.settledCount]).toEqual([true, 1])
    expect(words.commits).toEqual([])
  }),
)
