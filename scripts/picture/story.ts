/**
 * Draws the terminal picture of the README from a real run: an upload is killed halfway and resumes.
 *
 * Run it: `npx node scripts/picture/story.ts`
 */
import { spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { generateText } from "@detent/uploads/generate"
import { root } from "../projects.mjs"
import { type Line, linesOf } from "./Screen.ts"
import { terminalSvg } from "./terminalSvg.ts"

const columns = 92
const bin = join(root, "packages/cli/bin/detent.mjs")

/** The terminal output of the command, until it ends or is killed because its output matches `killAt`. */
const shown = (cwd: string, args: ReadonlyArray<string>, killAt?: RegExp): Promise<string> =>
  new Promise((resolve) => {
    const command = `stty cols ${columns}; echo "pid $$"; exec '${process.execPath}' '${bin}' ${args.join(" ")}`
    const env = { ...process.env, TERM: "xterm-256color", NO_COLOR: "" }
    const child = spawn("script", ["--quiet", "--command", command, "/dev/null"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] })
    let text = ""
    let isKilled = false
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more
      const pid = Number(/^pid (\d+)/.exec(text)?.[1])
      if (isKilled || killAt === undefined || !killAt.test(text) || Number.isNaN(pid)) return
      isKilled = true
      process.kill(pid, "SIGKILL")
    })
    child.on("close", () => resolve(text.replace(/^pid \d+\r?\n/, "")))
  })

const prompt = (line: string): Line => [
  { text: "$ ", codes: new Set([32]) },
  { text: line, codes: new Set([1]) },
]

const isEmpty = (line: Line) => line.every(({ text }) => text.trim() === "")

const folder = await mkdtemp(join(tmpdir(), "detent-story-"))
try {
  const text = Readable.from(generateText({ items: 100_000, layout: "lines" }), { objectMode: false })
  await pipeline(text, createWriteStream(join(folder, "items.jsonl")))
  const first = await shown(folder, ["upload", "run", "items.jsonl"], /storing +(4[0-9]|5[0-9])%/)
  const id = /batch-[0-9a-f]+/.exec(first)?.[0] ?? ""
  const second = await shown(folder, ["upload", "retry", id])
  const lines: ReadonlyArray<Line> = [
    prompt("npx detent upload run items.jsonl"),
    ...linesOf(first).filter((line) => !isEmpty(line)),
    [{ text: "[1]+  Killed", codes: new Set([31]) }],
    prompt(`npx detent upload retry ${id}`),
    ...linesOf(second).filter((line) => !isEmpty(line)),
  ]
  await writeFile(join(root, "examples/readme/terminal.svg"), terminalSvg("An upload is killed and resumes", lines, columns))
} finally {
  await rm(folder, { recursive: true, force: true })
}
