/** Clients that send to whichever worker is up, one event after the other, and send again what was not answered. */
import { setTimeout as sleep } from "node:timers/promises"
import { Patience } from "../../../store/test/support/patience.ts"
import { type Answer, type Attempt, isOver, type Sent } from "../simulation/Answers.ts"
import type { Chance } from "../simulation/Chance.ts"
import { type Driven, driven } from "../simulation/Machines.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

export interface LoadOptions {
  readonly machines: ReadonlyArray<Driven>
  readonly clients: number
  /** How many events come without an id, of one. */
  readonly withoutId: number
  readonly chance: Chance
  /** Who is asked next. */
  readonly worker: () => WorkerProcess | undefined
}

/** After so many events come new instances. */
const generationLength = 300

/** In milliseconds of an idle machine. Longer than any interruption of a test, so that a load without progress for this time is stuck. */
const longestWait = 60_000

interface OwnSent extends Sent {
  readonly attempts: Array<Attempt>
  settled: boolean
}

export class Load {
  readonly sent: Array<OwnSent> = []
  readonly #options: LoadOptions
  readonly #clients: Array<Promise<void>> = []
  #moment = 0
  #ending = false
  /** Grows with every accepted event. */
  accepted = 0
  failures: Array<string> = []

  constructor(options: LoadOptions) {
    this.#options = options
  }

  begin() {
    for (let client = 0; client < this.#options.clients; client++) this.#clients.push(this.#client(client))
  }

  /** Lets every client finish what it has begun. */
  async end() {
    this.#ending = true
    let isOver = false
    const all = Promise.all(this.#clients).then(() => {
      isOver = true
    })
    let moment = this.#moment
    const patience = new Patience(longestWait)
    while (!isOver) {
      await Promise.race([all, sleep(20)])
      if (this.#moment > moment) {
        moment = this.#moment
        patience.renew()
      }
      if (patience.isOver) throw this.#standstill("no client has ended")
    }
    await all
  }

  /** Waits until this many more events are accepted. */
  async progress(events = 1): Promise<void> {
    const enough = this.accepted + events
    let before = this.accepted
    const patience = new Patience(longestWait)
    while (this.accepted < enough) {
      await sleep(2)
      if (this.accepted > before) {
        before = this.accepted
        patience.renew()
      }
      if (patience.isOver) throw this.#standstill("no event was accepted")
    }
  }

  /** Names the events that wait for an answer. */
  #standstill(what: string): Error {
    const waiting = this.sent
      .filter(({ settled }) => !settled)
      .map(({ token, machine, id, attempts }) => {
        const last = attempts.at(-1)
        return `${token} to ${machine} ${id}, attempt ${attempts.length}: ${last?.answer === undefined ? "not answered" : JSON.stringify(last.answer)}`
      })
    return new Error(`${what} for ${longestWait / 1000} s; ${this.accepted} were accepted before. Waiting:\n${waiting.join("\n")}`)
  }

  async #client(client: number) {
    const { chance, machines, withoutId } = this.#options
    for (let count = 0; !this.#ending; count++) {
      const { machine, id } = this.#target()
      const token = `c${client}-${count}`
      const dedupeId = chance.happens(withoutId) ? undefined : token
      const event = driven(machine, machines).event(chance, token)
      const sent: OwnSent = { machine, id, event, token, dedupeId, attempts: [], settled: false }
      this.sent.push(sent)
      await this.#deliver(sent)
    }
  }

  /** A few instances at a time, so that they are contended for; new ones as the old ones end. */
  #target() {
    const { chance, machines } = this.#options
    const generation = Math.floor(this.sent.length / generationLength)
    return { machine: chance.pick(machines).machine.name, id: `i-${generation}-${chance.between(0, 5)}` }
  }

  async #deliver(sent: OwnSent) {
    for (;;) {
      const worker = this.#options.worker()
      if (worker === undefined) {
        await sleep(5)
        continue
      }
      const attempt: Attempt = { begun: ++this.#moment, ended: undefined, answer: undefined }
      sent.attempts.push(attempt)
      const answer = await worker.send(sent)
      attempt.ended = ++this.#moment
      attempt.answer = answer
      this.#note(answer)
      if (isOver(answer) || sent.dedupeId === undefined) break
      await sleep(5)
    }
    sent.settled = true
  }

  #note(answer: Answer) {
    if (answer._tag === "Taken") this.accepted++
    if (answer._tag === "Refused") this.failures.push(answer.error._tag)
  }
}
