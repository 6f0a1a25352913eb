/** Detent on a database with very many instances. */
import { createHash } from "node:crypto"
import { Engine, Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import type { Abilities } from "../../../measure/Player.ts"
import { median } from "../../../measure/Statistics.ts"
import { onPostgres } from "../../durable/contestants/detent.ts"
import { sideBySide } from "../../durable/Throughput.ts"
import {
  customerOf,
  E,
  eventsEach,
  Parcel,
  payload,
  S,
  templateCustomer,
  templateId,
  templateOf,
  templates,
  waitMillis,
} from "../parcel.ts"

export interface Populated extends Abilities {
  readonly makeTables: () => Promise<void>
  /** Starts one instance for each template, with all its events. */
  readonly makeTemplates: () => Promise<void>
  /** Opens a sample of the copies. Fails where one is not in the state of its template. Returns how many were opened. */
  readonly verify: (total: number, sample: number) => Promise<number>
  /** Brings instances into memory that are open, spread over the whole table. */
  readonly choose: (total: number, count: number) => Promise<void>
  /** Starts instances that turn, with a timer that every turn sets anew, or without. */
  readonly begin: (count: number, timed: boolean) => Promise<void>
  /** Sends to the chosen instances, 50 at once, each send awaited. */
  readonly send: (millis: number) => Promise<Sent>
  /** The same, until so many are stored. */
  readonly sendCount: (count: number) => Promise<Sent>
  /** Starts new instances, 50 at once. */
  readonly startNew: (millis: number) => Promise<Sent>
  readonly read: (total: number, rounds: number) => Promise<Reads>
  /** Starts instances whose timers are due at the same time; milliseconds until their transitions are stored. */
  readonly fire: (count: number, leadMillis: number) => Promise<Lateness>
  /** Removes all instances that have ended. Returns how many. */
  readonly purge: () => Promise<{ readonly removed: number; readonly millis: number }>
  /** Fails unless the journal has every event that was acknowledged. */
  readonly verifySent: () => Promise<void>
}

export interface Sent {
  readonly done: number
  readonly millis: number
  readonly cpuMicros: number
  /** The wait of the slowest hundredth, in milliseconds. */
  readonly p99Millis: number
}

export interface Lateness {
  readonly median: number
  readonly last: number
}

/** Milliseconds, medians. */
export interface Reads {
  readonly open: number
  readonly newest: number
  readonly "newest in a state": number
  readonly "page 100 of a state": number
  readonly "search by id": number
  readonly "search by an indexed field": number
  readonly counts: number
}

const concurrency = 50

const idOf = (number: number): string =>
  number <= templates.length ? templateId(number) : `${createHash("md5").update(String(number)).digest("hex").slice(0, 12)}-${number}`

export const populated = async ({ database }: { readonly database: string }): Promise<Populated & { close(): Promise<void> }> => {
  const runtime = ManagedRuntime.make(onPostgres(database))
  const { engine, journal } = await runtime.runPromise(Effect.all({ engine: Engine, journal: Journal }))
  const run = <A, X>(effect: Effect.Effect<A, X>) => runtime.runPromise(effect)
  const restore = (id: string) =>
    Effect.flatMap(engine.restore(id, Parcel), (found) =>
      Option.isNone(found) ? Effect.die(new Error(`there is no instance ${id}`)) : Effect.succeed(found.value),
    )
  const open = (number: number) => restore(idOf(number))

  let chosen: ReadonlyArray<Effect.Success<ReturnType<typeof open>>> = []
  const sent = new Map<string, number>()
  let begun = 0

  const sendUntil = async (isOver: (done: number) => boolean): Promise<Sent> => {
    const waits: Array<number> = []
    const cpu = process.cpuUsage()
    const start = performance.now()
    let total = 0
    const done = await sideBySide(concurrency, (index) =>
      run(
        Effect.gen(function* () {
          let own = 0
          for (let at = index; !isOver(total); at += concurrency) {
            const instance = chosen[at % chosen.length]
            if (instance === undefined) return yield* Effect.die(new Error("no instances were chosen"))
            total++
            const from = performance.now()
            yield* instance.send(E.Turn({ payload }))
            waits.push(performance.now() - from)
            sent.set(instance.id, (sent.get(instance.id) ?? 0) + 1)
            own++
          }
          return own
        }),
      ),
    )
    const millis = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    waits.sort((a, b) => a - b)
    return { done, millis, cpuMicros: user + system, p99Millis: waits[Math.floor(waits.length * 0.99)] ?? Number.NaN }
  }

  const untilTime = (millis: number) => {
    const start = performance.now()
    return () => performance.now() - start >= millis
  }

  return {
    makeTables: async () => undefined,
    makeTemplates: async () => {
      for (const [index, kind] of templates.entries()) {
        const id = templateId(index + 1)
        await run(
          Effect.gen(function* () {
            const instance = yield* engine.start(Parcel, id, { customer: templateCustomer, turns: 0 })
            // Some senders give ids, which have an index.
            for (let turn = 1; turn < eventsEach; turn++)
              yield* instance.send(E.Turn({ payload }), index % 10 === 0 && turn === 1 ? { id: `${id}-first` } : {})
            yield* instance.send(kind === "Open" ? E.Turn({ payload }) : kind === "Waiting" ? E.Wait({ millis: waitMillis }) : E.Close())
          }),
        )
      }
      // The listing has the rows of the templates only after a read.
      await run(engine.count(Parcel))
    },
    verify: async (total, sample) => {
      const step = Math.max(1, Math.floor(total / sample))
      let verified = 0
      for (let number = 1 + (step % templates.length); number <= total; number += step) {
        // Neighbours, so that each template comes up.
        const one = Math.min(total, number + (verified % templates.length))
        await run(
          Effect.gen(function* () {
            const instance = yield* open(one)
            const { _tag, turns, customer } = yield* instance.state
            const expected = templateOf(one)
            const turned = expected === "Open" ? eventsEach : eventsEach - 1
            if (_tag !== expected || turns !== turned || customer !== customerOf(one))
              return yield* Effect.die(new Error(`${instance.id} is ${_tag} after ${turns} turns, not ${expected} after ${turned}`))
            yield* engine.release(Parcel, [instance.id])
          }),
        )
        verified++
      }
      const counts = await run(engine.count(Parcel))
      const counted = [...counts.values()].reduce((sum, count) => sum + count, 0)
      if (counted !== total) throw new Error(`${total} instances were loaded, ${counted} are counted`)
      return verified
    },
    choose: async (total, count) => {
      const open_ = templates.flatMap((kind, index) => (kind === "Open" ? [index + 1] : []))
      const step = Math.max(1, Math.floor(total / templates.length / count))
      const numbers: Array<number> = []
      for (let round = 0; numbers.length < count && round * templates.length < total; round += step)
        for (const first of step === 1 ? open_ : open_.slice(0, 1)) numbers.push(round * templates.length + first)
      chosen = await run(Effect.forEach(numbers.slice(0, count), open, { concurrency: 100 }))
    },
    begin: async (count, timed) => {
      const starts = Array.from({ length: count }, () =>
        engine.start(
          Parcel,
          `begun-${begun++}`,
          timed ? S.Waiting({ customer: "begun", turns: 0, millis: waitMillis }) : S.Open({ customer: "begun", turns: 0 }),
        ),
      )
      chosen = [...chosen, ...(await run(Effect.all(starts, { concurrency: 100 })))]
    },
    send: (millis) => sendUntil(untilTime(millis)),
    sendCount: (count) => sendUntil((done) => done >= count),
    startNew: async (millis) => {
      const isOver = untilTime(millis)
      const cpu = process.cpuUsage()
      const start = performance.now()
      const done = await sideBySide(concurrency, async () => {
        let own = 0
        for (; !isOver(); own++) {
          const id = `${createHash("md5").update(String(begun)).digest("hex").slice(0, 12)}-new-${begun++}`
          await run(engine.start(Parcel, id, { customer: `new-${Math.floor(begun / 10)}`, turns: 0 }))
        }
        return own
      })
      const { user, system } = process.cpuUsage(cpu)
      return { done, millis: performance.now() - start, cpuMicros: user + system, p99Millis: Number.NaN }
    },
    read: async (total, rounds) => {
      const at = (round: number) => 1 + Math.floor(((round * 0.618034) % 1) * (total - 1))
      const timed = async (warmUps: number, ask: (round: number) => Effect.Effect<unknown, unknown>) => {
        const millis: Array<number> = []
        for (let round = -warmUps; round < rounds; round++) {
          const start = performance.now()
          await run(ask(round + warmUps + 1))
          if (round >= 0) millis.push(performance.now() - start)
        }
        return median(millis)
      }
      // The hundredth page begins in the middle of an index.
      let deep = await run(journal.list({ machine: Parcel.name, tag: "Open" }, 50))
      for (let page = 1; page < 100 && deep.next !== undefined; page++)
        deep = await run(journal.list({ machine: Parcel.name, tag: "Open" }, 50, deep.next))
      const after = deep.next
      return {
        open: await timed(5, (round) => open(at(round))),
        newest: await timed(5, () => engine.list(Parcel, { order: "newest", limit: 50 })),
        "newest in a state": await timed(5, () => engine.list(Parcel, { state: "Open", order: "newest", limit: 50 })),
        "page 100 of a state": await timed(5, () =>
          journal.list({ machine: Parcel.name, tag: "Open" }, 50, ...(after === undefined ? [] : [after])),
        ),
        "search by id": await timed(5, (round) => journal.page({ machine: Parcel.name, idPrefix: idOf(at(round)).slice(0, 6) }, 50)),
        "search by an indexed field": await timed(5, (round) =>
          Effect.flatMap(engine.list(Parcel, { where: { customer: customerOf(at(round)) }, limit: 50 }), ({ instances }) =>
            instances.length === 0 ? Effect.die(new Error(`no instance of ${customerOf(at(round))} was found`)) : Effect.void,
          ),
        ),
        counts: await timed(5, () => engine.count(Parcel)),
      }
    },
    fire: async (count, leadMillis) => {
      const due = Date.now() + leadMillis
      const late: Array<number> = []
      const all = Promise.withResolvers<void>()
      const ids = new Set(Array.from({ length: count }, () => `timer-${begun++}`))
      const unsubscribe = engine.inspectUnsafe((inspection) => {
        if (inspection._tag !== "Ended" || !ids.has(inspection.id)) return
        late.push(Date.now() - due)
        if (late.length === count) all.resolve()
      })
      const starts = [...ids].map((id) =>
        Effect.suspend(() => engine.start(Parcel, id, S.Waiting({ customer: "begun", turns: 0, millis: due - Date.now() }))),
      )
      await run(Effect.all(starts, { concurrency: 500, discard: true }))
      if (Date.now() > due) throw new Error("setting the timers took longer than the time until they were due")
      await all.promise
      unsubscribe()
      late.sort((a, b) => a - b)
      if (late.some((millis) => millis < 0)) throw new Error("a timer fired early")
      return { median: late[Math.floor(count / 2)] ?? Number.NaN, last: late.at(-1) ?? Number.NaN }
    },
    purge: async () => {
      const start = performance.now()
      const removed = await run(engine.purge(Parcel, { endedBefore: 0 }))
      return { removed, millis: performance.now() - start }
    },
    verifySent: async () => {
      for (const [id, count] of sent) {
        const { turns } = await run(Effect.flatMap(restore(id), (instance) => instance.state))
        const before = id.startsWith("begun-") ? 0 : eventsEach
        if (turns !== before + count) throw new Error(`${id} was sent ${count} events and has ${turns - before}`)
      }
    },
    close: () => runtime.dispose(),
  }
}
