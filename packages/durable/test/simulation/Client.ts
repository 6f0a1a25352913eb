/** Clients that send events, and keep what they sent and how each was answered. */
import { type Answer, type Attempt, isOver, type Sent } from "./Answers.ts"
import type { Simulated } from "./Simulated.ts"
import type { World } from "./World.ts"

export interface ClientAttempt extends Attempt {
  readonly node: Simulated
}

export interface ClientSent extends Sent {
  readonly attempts: Array<ClientAttempt>
  settled: boolean
}

/** A client gives up on one engine and asks another when it has waited so long. */
const patience = 4000

export class Clients {
  readonly sent: Array<ClientSent> = []
  readonly #world: World
  readonly #nodes: () => ReadonlyArray<Simulated>
  readonly #process: ReturnType<World["process"]>

  constructor(world: World, nodes: () => ReadonlyArray<Simulated>) {
    this.#world = world
    this.#nodes = nodes
    this.#process = world.process("clients")
  }

  get waiting(): number {
    return this.sent.filter(({ settled }) => !settled).length
  }

  send(one: Pick<Sent, "machine" | "id" | "event" | "token" | "dedupeId">) {
    const sent: ClientSent = { ...one, attempts: [], settled: false }
    this.sent.push(sent)
    this.#attempt(sent)
  }

  #attempt(sent: ClientSent) {
    if (sent.settled) return
    const up = this.#nodes().filter((node) => node.isOpen)
    if (up.length === 0) return void this.#later(500, sent)
    const node = this.#world.chance.pick(up)
    const attempt: ClientAttempt = { node, begun: ++this.#world.moment, ended: undefined, answer: undefined }
    sent.attempts.push(attempt)
    const cancel = sent.dedupeId === undefined ? () => undefined : this.#later(patience, sent)
    const { machine, id, event, token } = sent
    this.#world.tell("client", `sends ${event._tag} ${token} to ${machine} ${id} on ${node.process.name}`)
    node.send(sent, (answer) => {
      if (attempt.answer !== undefined) return
      this.#world.tell("client", `${token} was answered by ${node.process.name}: ${told(answer)}`)
      attempt.answer = answer
      attempt.ended = ++this.#world.moment
      cancel()
      if (!isOver(answer) && sent.dedupeId !== undefined) this.#later(200, sent)
      else sent.settled = true
    })
  }

  #later(millis: number, sent: ClientSent): () => void {
    return this.#world.after(this.#process, millis, () => this.#attempt(sent))
  }
}

const told = (answer: Answer): string => {
  if (answer._tag === "Taken") return JSON.stringify(answer.state)
  return answer._tag === "Refused" ? answer.error.message : answer._tag
}
