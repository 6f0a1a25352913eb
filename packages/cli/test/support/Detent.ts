/** The `detent` command: in a process of its own, without a terminal and in one, and in a process that commands share. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Schema from "effect/Schema"
import { afterAll } from "vitest"
import { parseLine } from "../../src/line/parse.mjs"
import { type Ended, executed } from "./SharedProcess.ts"

export const bin = join(import.meta.dirname, "../../bin/detent.mjs")

export interface Settings {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** Nothing of the tests' own surroundings gets in. */
const environment = (more: Settings["env"]): Readonly<Record<string, string>> => {
  const { NO_COLOR: _, FORCE_COLOR: __, DETENT_DATABASE_URL: ___, DETENT_TOKEN: ____, ...rest } = process.env
  const given = Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { ...Object.fromEntries(given), TERM: "xterm-256color", ...more }
}

export class Running {
  readonly process: ChildProcess
  out = ""
  err = ""
  readonly ended: Promise<Ended>
  readonly #waiting = new Set<() => void>()

  constructor(command: string, args: ReadonlyArray<string>, { cwd, env, input }: Settings = {}) {
    this.process = spawn(command, args, { cwd: cwd ?? tmpdir(), env: environment(env), stdio: "pipe" })
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear("out", text))
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => this.#hear("err", text))
    if (input !== undefined) this.process.stdin?.end(input)
    this.ended = once(this.process, "close").then(([code, signal]) => {
      for (const wake of this.#waiting) wake()
      return { code, signal, out: this.out, err: this.err }
    })
  }

  #hear(stream: "out" | "err", text: string) {
    this[stream] += text
    for (const wake of this.#waiting) wake()
  }

  /** Waits until it has said something. It fails when the process ends without. */
  async until(said: string | RegExp): Promise<void> {
    const has = () => (typeof said === "string" ? (this.out + this.err).includes(said) : said.test(this.out + this.err))
    while (!has()) {
      if (this.process.exitCode !== null || this.process.signalCode !== null)
        throw new Error(`it ended without saying ${said}: ${this.out}\n${this.err}`)
      await new Promise<void>((resume) => {
        const wake = () => {
          this.#waiting.delete(wake)
          resume()
        }
        this.#waiting.add(wake)
      })
    }
  }

  stop(signal: NodeJS.Signals): Promise<Ended> {
    this.process.kill(signal)
    return this.ended
  }

  type(text: string): void {
    this.process.stdin?.write(text)
  }
}

export const start = (args: ReadonlyArray<string>, settings?: Settings) => new Running(process.execPath, [bin, ...args], settings)

/** Runs a command in a process of its own to its end. */
export const detentProcess = (args: ReadonlyArray<string>, settings: Settings = {}): Promise<Ended> =>
  start(args, { input: "", ...settings }).ended

/**
 * Runs a command to its end, in a process that other commands use before and after it: a process of its own takes longer to start than
 * most commands take. Help and wrong usage, which load nothing, are answered by a process of their own.
 */
export const detent = (args: ReadonlyArray<string>, settings: Settings = {}): Promise<Ended> => {
  const line = parseLine(args)
  if (line._tag !== "Run" || line.command.name === "completions") return detentProcess(args, settings)
  const { cwd = tmpdir(), env, input = "" } = settings
  return executed({ args, cwd, env: environment(env), input })
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** In a terminal of 100 columns: what it shows is `out`, since a terminal has but one screen. */
export const startInTerminal = (args: ReadonlyArray<string>, settings?: Settings) => {
  const line = ["stty cols 100;", "exec", quoted(process.execPath), quoted(bin), ...args.map(quoted)].join(" ")
  return new Running("script", ["--quiet", "--return", "--command", line, "/dev/null"], settings)
}

/** The lines of newline-delimited JSON, each decoded. */
export const decoded = <A>(schema: Schema.Codec<A, unknown>, text: string): ReadonlyArray<A> =>
  text
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Schema.decodeUnknownSync(Schema.toCodecJson(schema))(JSON.parse(line)))

const folders: Array<string> = []

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

/** A folder of the test's own, gone when the tests of the file are over. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "detent-cli-"))
  folders.push(folder)
  return folder
}
