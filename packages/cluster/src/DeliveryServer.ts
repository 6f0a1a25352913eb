/** Carries out what other nodes ask of the instances of this node. */
import { type Answering, type InstanceKey, instanceName, type Receiver, type RemoteAnswer } from "@detent/durable/internal"
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Parcel, Progress } from "./Protocol.ts"

/** The sender may have sent it to another node since, which may have refused it: it is not carried out here, also where it is back. */
const gone: RemoteAnswer = { _tag: "Elsewhere", reason: "instances have left this node since the request came" }

const notServed = (machine: string): RemoteAnswer => ({
  _tag: "Elsewhere",
  reason: `this node does not know machine ${machine}; register it on all nodes of the cluster`,
})

export class DeliveryServer {
  readonly #receivers = new Set<Receiver>()
  readonly #run: (effect: Effect.Effect<void>) => void
  /** The instances that are taking requests in: calls that come meanwhile wait, so that none is overtaken. */
  readonly #taking = new Map<string, Deferred.Deferred<void>>()
  /** How often instances have left this node. */
  #departures = 0

  constructor(run: (effect: Effect.Effect<void>) => void) {
    this.#run = run
  }

  get receivers(): Iterable<Receiver> {
    return this.#receivers
  }

  add(receiver: Receiver): () => void {
    const counted: Receiver = {
      ...receiver,
      leave: (isLeaving, departure) => {
        this.#departures++
        return receiver.leave(isLeaving, departure)
      },
    }
    this.#receivers.add(counted)
    return () => this.#receivers.delete(counted)
  }

  /** Answers each request once. `heartbeat`: how often the stream says that this node is alive, in milliseconds. */
  deliver(parcels: ReadonlyArray<Parcel>, heartbeat: number): Stream.Stream<Progress> {
    return Stream.unwrap(
      Effect.gen({ self: this }, function* () {
        const queue = yield* Queue.unbounded<Progress, Cause.Done>()
        let left = parcels.reduce((sum, { requests }) => sum + requests.length, 0)
        let gathered: Array<[number, RemoteAnswer]> = []
        let isTaken = false
        const flush = () => {
          const answers = gathered
          gathered = []
          Queue.offerUnsafe(queue, { answers })
          if (left === 0) Queue.endUnsafe(queue)
        }
        const answering =
          (first: number): Answering =>
          (position, answer) => {
            left--
            gathered.push([first + position, answer])
            // Answers before all requests are taken go with the first message; after that, those of one turn go together.
            if (isTaken && gathered.length === 1) this.#run(Effect.andThen(Effect.yieldNow, Effect.sync(flush)))
          }
        let first = 0
        const departures = this.#departures
        const taking = parcels.map(({ machine, id, requests }) => {
          const answer = answering(first)
          first += requests.length
          const answerAll = (answered: RemoteAnswer) =>
            Effect.sync(() => {
              for (const position of requests.keys()) answer(position, answered)
            })
          return this.#take({ machine, id }, (receiver) => {
            if (receiver === undefined) return answerAll(notServed(machine))
            if (departures !== this.#departures) return answerAll(gone)
            return receiver.receive({ machine, id }, requests, answer)
          })
        })
        this.#run(
          Effect.andThen(
            Effect.forEach(taking, (one) => one, { discard: true, concurrency: "unbounded" }),
            Effect.sync(() => {
              isTaken = true
              flush()
            }),
          ),
        )
        return Stream.merge(
          Stream.fromQueue(queue),
          Stream.map(Stream.tick(heartbeat), () => ({ answers: [] }) satisfies Progress).pipe(Stream.drop(1)),
          { haltStrategy: "left" },
        )
      }),
    )
  }

  /** One after the other for each instance, in the order of the calls. */
  #take(key: InstanceKey, take: (receiver: Receiver | undefined) => Effect.Effect<void>): Effect.Effect<void> {
    const name = instanceName(key)
    const before = this.#taking.get(name)
    const done = Deferred.makeUnsafe<void>()
    this.#taking.set(name, done)
    const over = Effect.suspend(() => {
      if (this.#taking.get(name) === done) this.#taking.delete(name)
      return Deferred.succeed(done, undefined)
    })
    const taken = Effect.suspend(() => take([...this.#receivers].find((one) => one.serves(key.machine))))
    return Effect.ensuring(before === undefined ? taken : Effect.andThen(Deferred.await(before), taken), over)
  }
}
