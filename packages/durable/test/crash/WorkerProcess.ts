/** A worker process as a test sees it: asked over IPC, killed with SIGKILL. */
import { type ChildProcess, type ForkOptions, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type { Tagged } from "@detent/machine/internal"
import { until } from "../../../store/test/support/patience.ts"
import { programOf } from "../../../store/test/support/programs.ts"
import type { Answer, Sent } from "../simulation/Answers.ts"
import type { FromWorker, Opening, ToWorker } from "./Protocol.ts"

/** Stopping waits for the answers to what the worker has begun, in milliseconds of an idle machine. */
const longestStop = 60_000

export interface WorkerReading {
  readonly sequence: number
  readonly state: Tagged | undefined
}

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #answers = new Map<string, (answer: Answer) => void>()
  readonly #readings = new Map<string, (reading: WorkerReading) => void>()
  readonly #heard = new Map<FromWorker["_tag"], Array<() => void>>()
  readonly #told = new Set<FromWorker["_tag"]>()
  #errors = ""
  #problem: string | undefined
  #isOpen = false
  isAlive = true

  /** Starts the process; it loads its modules and waits for what to open. */
  constructor(options: ForkOptions = {}) {
    this.#child = fork(programOf(join(import.meta.dirname, "worker.ts")), {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: [],
      ...options,
    })
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#child.on("message", (message) => this.#receive(message as FromWorker))
    this.#child.on("exit", () => {
      this.isAlive = false
      this.#isOpen = false
      for (const tell of [...this.#answers.values()]) tell({ _tag: "Silence" })
      this.#answers.clear()
      for (const wake of [...this.#heard.values()].flat()) wake()
    })
  }

  get isOpen(): boolean {
    return this.#isOpen && this.isAlive
  }

  /** What it wrote to its standard error. */
  get errors(): string {
    return this.#errors
  }

  async open(opening: Omit<Opening, "_tag">): Promise<this> {
    await this.#hears("Ready")
    this.#say({ _tag: "Open", ...opening })
    await this.#hears("Opened")
    if (this.#problem !== undefined || !this.isAlive) throw new Error(`a worker did not open: ${this.#problem ?? this.#errors}`)
    this.#isOpen = true
    return this
  }

  send({ token, machine, id, event, dedupeId }: Sent): Promise<Answer> {
    return new Promise((resolve) => {
      if (!this.isOpen) return resolve({ _tag: "Silence" })
      this.#answers.set(token, (answer) => {
        this.#answers.delete(token)
        resolve(answer)
      })
      this.#say({ _tag: "Send", token, machine, id, event, dedupeId })
    })
  }

  read(machine: string, id: string): Promise<WorkerReading> {
    return new Promise((resolve) => {
      this.#readings.set(`${machine} ${id}`, resolve)
      this.#say({ _tag: "Read", machine, id })
    })
  }

  jump(millis: number) {
    this.#say({ _tag: "Jump", millis })
  }

  block(millis: number) {
    this.#say({ _tag: "Block", millis })
  }

  freeze() {
    this.#child.kill("SIGSTOP")
  }

  thaw() {
    this.#child.kill("SIGCONT")
  }

  async kill(): Promise<void> {
    if (!this.isAlive) return
    const gone = once(this.#child, "exit")
    this.#isOpen = false
    this.#child.kill("SIGKILL")
    await gone
  }

  /** Ends in peace. */
  async stop(): Promise<void> {
    if (!this.isAlive) return
    this.#isOpen = false
    this.#say({ _tag: "Stop" })
    await until(
      () => `a worker stops: ${this.#errors}`,
      () => !this.isAlive,
      longestStop,
    )
  }

  #say(message: ToWorker) {
    // A message to one that is dying is lost, and its exit tells so.
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #hears(tag: FromWorker["_tag"]): Promise<void> {
    if (this.#told.has(tag) || !this.isAlive) return Promise.resolve()
    return new Promise((resolve) => this.#heard.set(tag, [...(this.#heard.get(tag) ?? []), resolve]))
  }

  #receive(message: FromWorker) {
    this.#told.add(message._tag)
    if (message._tag === "Failed") this.#problem = message.problem
    for (const wake of this.#heard.get(message._tag === "Failed" ? "Opened" : message._tag) ?? []) wake()
    if (message._tag === "Answered") this.#answers.get(message.token)?.(message.answer)
    if (message._tag === "State") this.#readings.get(`${message.machine} ${message.id}`)?.(message)
  }
}
