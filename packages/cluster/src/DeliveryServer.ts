/**
 * Carries out the requests of other nodes for the instances of this node. Each connection of a node is a `Conversation`: it receives calls
 * and reports their progress.
 */
import type { Answering, Receiver, RemoteAnswer } from "@detent/durable/internal"
import type { InstanceKey } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type Parcel, type Progress, progressCharacters } from "./Protocol.ts"

/**
 * The sender may have sent the request to another node since, which may have refused it. So it is not carried out here, even if the
 * instance is back.
 */
const gone: RemoteAnswer = { _tag: "Elsewhere", reason: "instances have left this node since the request arrived" }

const notServed = (machine: string): RemoteAnswer => ({
  _tag: "Elsewhere",
  reason: `machine ${machine} is not registered on this node; register it on all nodes of the cluster`,
})

export class DeliveryServer {
  readonly #receivers = new Set<Receiver>()
  readonly #run: (effect: Effect.Effect<void>) => void
  /** The instances that are accepting requests: later calls wait, so that no request overtakes another. */
  readonly #taking = new Map<string, Deferred.Deferred<void>>()
  /** How often instances have left this node. */
  #departures = 0

  constructor(run: (effect: Effect.Effect<void>) => void) {
    this.#run = run
  }

  get receivers(): Iterable<Receiver> {
    return this.#receivers
  }

  /**
   * Adds a receiver. The returned function ends its requests; it stays among the receivers, because work of its instances may still be
   * ending.
   */
  add(receiver: Receiver): () => void {
    let isServing = true
    const counted: Receiver = {
      ...receiver,
      serves: (machine) => isServing && receiver.serves(machine),
      gained: () => {
        if (isServing) receiver.gained()
      },
      leave: (isLeaving, departure) => {
        this.#departures++
        return receiver.leave(isLeaving, departure)
      },
    }
    this.#receivers.add(counted)
    return () => {
      isServing = false
    }
  }

  /** Opens a conversation for a connection on which a node sends calls. `report` receives their progress. */
  converse(report: (progress: Progress) => void): Conversation {
    return new Conversation(this, this.#run, report)
  }

  /** Answers each request once. `accepted` is called once, when the instances have all requests. */
  deliver(parcels: ReadonlyArray<Parcel>, answer: Answering, accepted: () => void) {
    let first = 0
    let waiting = 1
    const taken = Effect.sync(() => {
      if (--waiting === 0) accepted()
    })
    for (const { machine, id, requests } of parcels) {
      const offset = first
      first += requests.length
      const taking = this.#take({ machine, id }, requests, (position, answered) => answer(offset + position, answered))
      if (taking === undefined) continue
      waiting++
      this.#run(Effect.ensuring(taking, taken))
    }
    if (--waiting === 0) accepted()
  }

  /** Delivers the calls for one instance one after the other, in order. Returns undefined if the instance already has the requests. */
  #take(key: InstanceKey, requests: Parcel["requests"], answer: Answering): Effect.Effect<void> | undefined {
    const name = instanceName(key)
    const before = this.#taking.get(name)
    const now = before === undefined ? this.#receive(key, requests, answer) : this.#receiveAfter(before, key, requests, answer)
    if (now === undefined) return undefined
    const done = Deferred.makeUnsafe<void>()
    this.#taking.set(name, done)
    const over = Effect.suspend(() => {
      if (this.#taking.get(name) === done) this.#taking.delete(name)
      return Deferred.succeed(done, undefined)
    })
    return Effect.ensuring(now, over)
  }

  #receive(key: InstanceKey, requests: Parcel["requests"], answer: Answering): Effect.Effect<void> | undefined {
    for (const receiver of this.#receivers) if (receiver.serves(key.machine)) return receiver.receive(key, requests, answer)
    answerAll(requests, answer, notServed(key.machine))
    return undefined
  }

  #receiveAfter(
    before: Deferred.Deferred<void>,
    key: InstanceKey,
    requests: Parcel["requests"],
    answer: Answering,
  ): Effect.Effect<void> | undefined {
    const departures = this.#departures
    return Effect.flatMap(Deferred.await(before), () => {
      if (departures === this.#departures) return this.#receive(key, requests, answer) ?? Effect.void
      return Effect.sync(() => answerAll(requests, answer, gone))
    })
  }
}

const answerAll = (requests: Parcel["requests"], answer: Answering, answered: RemoteAnswer) => {
  for (const position of requests.keys()) answer(position, answered)
}

/** The calls of one connection, and their next report. */
export class Conversation {
  readonly #server: DeliveryServer
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #report: (progress: Progress) => void
  /** Answers that are not reported yet, by call. An empty list reports that the instances have the requests. */
  #unreported = new Map<number, Array<[number, RemoteAnswer]>>()
  #willReport = false
  /** Requests that are not answered. */
  #unanswered = 0

  constructor(server: DeliveryServer, run: (effect: Effect.Effect<void>) => void, report: (progress: Progress) => void) {
    this.#server = server
    this.#run = run
    this.#report = report
  }

  /** Whether a node waits for answers. */
  get isAwaited(): boolean {
    return this.#unanswered > 0
  }

  take(call: number, parcels: ReadonlyArray<Parcel>) {
    // Answers that arrive before the instances have all requests are reported once they have them.
    let early: Array<[number, RemoteAnswer]> | undefined = []
    for (const { requests } of parcels) this.#unanswered += requests.length
    const answer: Answering = (position, answered) => {
      this.#unanswered--
      if (early === undefined) this.#answersOf(call).push([position, answered])
      else early.push([position, answered])
    }
    this.#server.deliver(parcels, answer, () => {
      this.#answersOf(call).push(...(early ?? []))
      early = undefined
    })
  }

  #answersOf(call: number): Array<[number, RemoteAnswer]> {
    const found = this.#unreported.get(call)
    if (found !== undefined) return found
    const answers: Array<[number, RemoteAnswer]> = []
    this.#unreported.set(call, answers)
    if (!this.#willReport) {
      this.#willReport = true
      this.#run(this.#reportSoon)
    }
    return answers
  }

  /** Everything that becomes known in the same turn is reported together, unless it is too large for one message. */
  readonly #reportSoon: Effect.Effect<void> = Effect.andThen(
    Effect.yieldNow,
    Effect.sync(() => {
      const progress = [...this.#unreported]
      this.#unreported = new Map()
      this.#willReport = false
      for (const message of messagesOf(progress)) this.#report(message)
    }),
  )
}

const sizeOf = (answer: RemoteAnswer): number => {
  switch (answer._tag) {
    case "Done":
      return answer.taken?.length ?? 0
    case "Refused":
      return answer.error.length
    case "Elsewhere":
      return answer.reason.length
  }
}

/** Divides progress into messages of bounded size, in order. */
const messagesOf = (progress: Progress): ReadonlyArray<Progress> => {
  const messages: Array<Array<[number, Array<Progress[number][1][number]>]>> = [[]]
  let size = 0
  for (const [call, answers] of progress) {
    messages.at(-1)?.push([call, []])
    for (const answer of answers) {
      const characters = sizeOf(answer[1])
      if (size > 0 && size + characters > progressCharacters) {
        messages.push([[call, []]])
        size = 0
      }
      size += characters
      messages.at(-1)?.at(-1)?.[1].push(answer)
    }
  }
  return messages
}
