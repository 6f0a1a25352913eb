/** Measures programs in child processes, in turns. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { median } from "./Statistics.ts"

/** Runs a Node program and returns the JSON it prints. */
export const runNode = async (args: ReadonlyArray<string>): Promise<Readonly<Record<string, number>>> =>
  JSON.parse(await output(process.execPath, args))

/**
 * Runs a command and returns its CPU seconds, including its children. Node does not report children, so the shell does: `time`
 * of bash is the same on Linux and macOS.
 */
export const cpuSecondsOf = async (command: string, args: ReadonlyArray<string>): Promise<number> => {
  const script = `TIMEFORMAT='%U %S'; { time "$0" "$@" 1>&3 2>&3; } 3>&2 2>&1`
  const printed = await output("bash", ["-c", script, command, ...args], { ...process.env, LC_ALL: "C" })
  return printed
    .trim()
    .split(" ")
    .reduce((sum, part) => sum + Number(part), 0)
}

const output = async (command: string, args: ReadonlyArray<string>, env = process.env): Promise<string> => {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env })
  const [printed, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${printed}${problems}`)
  return printed
}

/** Runs the contestants in turns, and returns the median of every number that each reports. */
export const inTurns = async (
  contestants: Readonly<Record<string, () => Promise<Readonly<Record<string, number>>>>>,
  turns: number,
): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> => {
  const reports: Record<string, Array<Readonly<Record<string, number>>>> = {}
  for (let turn = 0; turn < turns; turn++) {
    for (const [name, run] of Object.entries(contestants)) {
      reports[name] ??= []
      reports[name].push(await run())
    }
  }
  return Object.fromEntries(
    Object.entries(reports).map(([name, all]) => [
      name,
      Object.fromEntries(Object.keys(all[0] ?? {}).map((key) => [key, median(all.map((report) => report[key] ?? Number.NaN))])),
    ]),
  )
}
