/** Programs in child processes. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface Program<A> {
  readonly child: ChildProcess
  /** The JSON that it printed when it was ready. */
  readonly ready: A
  /** Ends the program and returns the report that it prints at its end, if any. */
  readonly stop: () => Promise<Readonly<Record<string, number>>>
}

/** Starts a program of this folder. It prints a line of JSON when it is ready, and exits when its standard input ends. */
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

/** Starts a program that serves HTTP, and returns its port. */
export const startServing = async (program: string, args: ReadonlyArray<string>) => {
  const started = await startProgram<{ readonly port: number }>(program, args)
  return { ...started, port: started.ready.port }
}
