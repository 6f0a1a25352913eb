/** The sessions of one test, the events between them, and a clock that only the test moves. */
import type { Session, Signal } from "./session.ts"

interface Delayed {
  readonly due: number
  readonly order: number
  readonly from: Session
  readonly to: Session
  readonly signal: Signal
  readonly sendid: string | undefined
}

export class World {
  #now = 0
  #count = 0
  #queue: Array<{ readonly to: Session; readonly signal: Signal }> = []
  #delayed: Array<Delayed> = []
  readonly #sessions = new Map<string, Session>()

  next(): number {
    return ++this.#count
  }

  add(session: Session): string {
    const id = `session-${this.next()}`
    this.#sessions.set(id, session)
    return id
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  queue(to: Session, signal: Signal) {
    this.#queue.push({ to, signal })
  }

  send(from: Session, to: Session, signal: Signal, millis: number, sendid: string | undefined) {
    if (millis === 0) this.queue(to, signal)
    else this.#delayed.push({ due: this.#now + millis, order: this.next(), from, to, signal, sendid })
  }

  cancel(from: Session, sendid: string) {
    this.#delayed = this.#delayed.filter((one) => one.from !== from || one.sendid !== sendid)
  }

  /** Delivers what is on its way. */
  settle() {
    for (let rounds = 0; this.#queue.length > 0 && rounds < 10_000; rounds++) {
      const { to, signal } = this.#queue.shift() as { readonly to: Session; readonly signal: Signal }
      to.receive(signal)
    }
  }

  advance(millis: number) {
    const until = this.#now + millis
    this.settle()
    while (this.#deliverNext(until)) this.settle()
    this.#now = until
  }

  /** Moves the clock to the next delayed event. False where there is none. */
  tick(): boolean {
    const isDelivered = this.#deliverNext(Number.POSITIVE_INFINITY)
    this.settle()
    return isDelivered
  }

  #deliverNext(until: number): boolean {
    this.#delayed = this.#delayed.filter(({ from }) => !from.hasEnded)
    const [next, ...others] = [...this.#delayed].sort((left, right) => left.due - right.due || left.order - right.order)
    if (next === undefined || next.due > until) return false
    this.#delayed = others
    this.#now = Math.max(this.#now, next.due)
    this.queue(next.to, next.signal)
    return true
  }
}
