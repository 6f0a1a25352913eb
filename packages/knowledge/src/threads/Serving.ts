/** The side of the thread: runs the tasks it is told to, one at a time. */
import type { MessagePort } from "node:worker_threads"
import type { FromWorker, ToWorker } from "./Protocol.ts"

/** Does one kind of work. What it is given and what it returns is copied between threads, so it has to be plain data. */
export type TaskHandler = (input: never, shared: never) => unknown

export const serve = (port: MessagePort, tasks: Readonly<Record<string, TaskHandler>>) => {
  const kept = new Map<string, unknown>()
  const answer = (message: FromWorker) => port.postMessage(message)
  port.on("message", (message: ToWorker) => {
    if (message._tag === "Share") kept.set(message.shared.key, message.shared.value)
    else if (message._tag === "Forget") kept.delete(message.key)
    else void run(message, tasks, kept).then(answer)
  })
}

const run = async (
  { id, task, input, shared }: Extract<ToWorker, { readonly _tag: "Run" }>,
  tasks: Readonly<Record<string, TaskHandler>>,
  kept: ReadonlyMap<string, unknown>,
): Promise<FromWorker> => {
  const handler = tasks[task]
  if (handler === undefined) return { _tag: "Failed", id, problem: "this thread knows no such task" }
  try {
    // Both were sent by the pool of this very package, which knows what the task takes.
    return { _tag: "Done", id, output: await handler(input as never, kept.get(shared ?? "") as never) }
  } catch (error) {
    return { _tag: "Failed", id, problem: error instanceof Error ? error.message : String(error) }
  }
}
