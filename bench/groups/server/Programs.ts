/** Programs in processes of their own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface Program<A> {
  readonly child: ChildProcess
  /** What it printed when it was ready. */
  readonly ready: A
  /** Ends it; what it prints then, if anything, is what it reports. */
  readonly stop: () => Promise<Readonly<Record<string, number>>>
}

/** Starts a program of this folder; it prints a line of JSON when it is ready, and ends with its input. */
export const startProgram = async <A>(program: string, args: ReadonlyArray<string>): Promise<Program<A>> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], { stdio: ["pipe", "pipe", "inherit"] })
  const [line] = (await Promise.race([
    once(child.stdout, "data"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`${program} ended with ${code} before it was ready`))),
  ])) as [Buffer]
  const stop = async () => {
    let printed = ""
    child.stdout.on("data", (chunk) => {
      printed += chunk
    })
    child.stdin.end()
    if (child.exitCode === null) await once(child, "close")
    return printed === "" ? {} : JSON.parse(printed)
  }
  return { child, ready: JSON.parse(line.toString()), stop }
}

/** A program that serves, and where. */
export const startServing = async (program: string, args: ReadonlyArray<string>) => {
  const started = await startProgram<{ readonly port: number }>(program, args)
  return { ...started, port: started.ready.port }
}
