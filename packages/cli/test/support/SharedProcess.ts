/** Processes that execute one command after the other. Commands at the same time are executed by processes of their own. */
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { join } from "node:path"

export interface ToExecute {
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input: string
  /** Written to stdout and stderr when the command is over. */
  readonly end: string
}

export interface Executed {
  readonly code: number
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
}

const idle: Array<ChildProcess> = []

const started = (): ChildProcess => {
  const child = fork(join(import.meta.dirname, "executeCommands.ts"), { stdio: ["ignore", "pipe", "pipe", "ipc"] })
  child.stdout?.setEncoding("utf8")
  child.stderr?.setEncoding("utf8")
  // It ends with the tests, and does not keep them.
  child.once("exit", () => {
    if (idle.includes(child)) idle.splice(idle.indexOf(child), 1)
  })
  child.unref()
  child.channel?.unref()
  return child
}

export const executed = (command: Omit<ToExecute, "end">): Promise<Ended> => {
  const child = idle.pop() ?? started()
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error("the process has no streams")
  const end = randomUUID()
  return new Promise((resolve) => {
    let out = ""
    let err = ""
    let answer: Executed | undefined
    const finish = (code: number | null, signal: string | null) => {
      stdout.off("data", onOut)
      stderr.off("data", onErr)
      child.off("message", onAnswer)
      child.off("close", finish)
      resolve({ code, signal, out: out.replace(end, ""), err: err.replace(end, "") })
    }
    const check = () => {
      if (answer === undefined || !out.includes(end) || !err.includes(end)) return
      idle.push(child)
      finish(answer.code, null)
    }
    const onOut = (text: string) => {
      out += text
      check()
    }
    const onErr = (text: string) => {
      err += text
      check()
    }
    const onAnswer = (message: Executed) => {
      answer = message
      check()
    }
    stdout.on("data", onOut)
    stderr.on("data", onErr)
    child.on("message", onAnswer)
    child.on("close", finish)
    child.send({ ...command, end } satisfies ToExecute)
  })
}
