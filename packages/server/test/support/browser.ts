/** A real browser without a window, for the tests of a file, driven over its DevTools protocol. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { afterAll, beforeAll } from "vitest"

const names = ["chromium", "chromium-browser", "google-chrome"]

/** The command of the one that is installed. */
export const installedBrowser = names.find((name) => spawnSync(name, ["--version"]).status === 0)

export interface Tab {
  /** The value of an expression in the page. */
  readonly evaluate: (expression: string) => Effect.Effect<unknown>
  /** Ends when an expression in the page is true, or fails after twenty seconds with the page's text. */
  readonly until: (expression: string) => Effect.Effect<void>
  /** Presses a key as a person does. */
  readonly press: (key: string) => Effect.Effect<void>
  /** Gives the window a width, as if it were that of a phone or of a screen. */
  readonly resize: (width: number) => Effect.Effect<void>
  /** What the page did that it should not: errors, and what its content policy kept from it. */
  readonly problems: ReadonlyArray<string>
  /** The addresses it asked for. */
  readonly requests: ReadonlyArray<string>
}

interface Message {
  readonly id?: number
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: the protocol has hundreds of messages.
  readonly [part: string]: any
}

interface Browser {
  readonly child: ChildProcess
  readonly profile: string
  readonly connection: Connection
}

/** Starts a browser before the tests, and ends it after them. Opens an address in a tab with cookies and storage of its own. */
export const useBrowser = (): ((url: string) => Effect.Effect<Tab, never, Scope.Scope>) => {
  let browser: Browser | undefined
  // A browser takes a while to start on a busy machine.
  beforeAll(async () => {
    const profile = await mkdtemp(join(tmpdir(), "detent-browser-"))
    const { child, address } = await launch(profile)
    browser = { child, profile, connection: await connect(address) }
  }, 90_000)
  afterAll(async () => {
    if (browser === undefined) return
    browser.connection.socket.close()
    await stop(browser.child)
    await rm(browser.profile, { recursive: true, force: true, maxRetries: 5 })
  })
  return (url) => Effect.suspend(() => (browser === undefined ? Effect.die(new Error("the browser did not start")) : openTab(browser, url)))
}

const openTab = ({ child, connection }: Browser, url: string): Effect.Effect<Tab, never, Scope.Scope> =>
  Effect.gen(function* () {
    const problems: Array<string> = []
    const requests: Array<string> = []
    const { browserContextId } = yield* Effect.acquireRelease(connection.call("Target.createBrowserContext", {}), (context) =>
      connection.call("Target.disposeBrowserContext", { browserContextId: context["browserContextId"] }),
    )
    const { targetId } = yield* connection.call("Target.createTarget", { url: "about:blank", browserContextId })
    const { sessionId } = yield* connection.call("Target.attachToTarget", { targetId, flatten: true })
    connection.listen(sessionId, ({ method, params }) => {
      if (method === "Runtime.exceptionThrown")
        problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text)
      if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(`${params.entry.text} ${params.entry.url ?? ""}`)
      if (method === "Network.requestWillBeSent") requests.push(params.request.url)
    })
    const call = (method: string, params: object = {}) => connection.call(method, params, sessionId)
    for (const domain of ["Runtime", "Log", "Network", "Page"]) yield* call(`${domain}.enable`)
    yield* call("Page.navigate", { url })
    const evaluate = (expression: string) =>
      Effect.map(call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }), ({ result }) => result.value as unknown)
    const until = (expression: string): Effect.Effect<void> =>
      Effect.gen(function* () {
        for (let turn = 0; turn < 400; turn++) {
          if ((yield* evaluate(expression)) === true) return
          yield* Effect.sleep("50 millis")
        }
        const text = yield* evaluate("document.body.innerText")
        return yield* Effect.die(new Error(`not true after twenty seconds: ${expression}; the page says:\n${text}\n${problems.join("\n")}`))
      })
    const resize = (width: number) =>
      Effect.asVoid(call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 800 }))
    const press = (key: string) =>
      Effect.asVoid(
        Effect.forEach(["keyDown", "keyUp"], (type) =>
          call("Input.dispatchKeyEvent", {
            type,
            key,
            code: key,
            windowsVirtualKeyCode: keyCodes[key],
            ...(key === "Enter" ? { text: "\r" } : {}),
          }),
        ),
      )
    if (child.exitCode !== null) return yield* Effect.die(new Error("the browser ended"))
    return { evaluate, until, press, resize, problems, requests }
  })

const keyCodes: Readonly<Record<string, number>> = { Enter: 13, Escape: 27, Tab: 9 }

const launch = async (profile: string): Promise<{ readonly child: ChildProcess; readonly address: string }> => {
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0", `--user-data-dir=${profile}`]
  const child = spawn(installedBrowser ?? "chromium", [...flags, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] })
  for await (const line of createInterface({ input: child.stderr })) {
    const address = /^DevTools listening on (ws:\S+)/.exec(line)?.[1]
    if (address === undefined) continue
    // It continues telling; unread, it would wait for its reader one day.
    child.stderr.resume()
    return { child, address }
  }
  throw new Error("the browser ended before it could be reached")
}

const stop = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const over = once(child, "exit")
  child.kill("SIGKILL")
  await over
}

type Connection = Awaited<ReturnType<typeof connect>>

const connect = async (address: string) => {
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", () => reject(new Error(`the browser does not answer at ${address}`)))
  })
  const waiting = new Map<number, (message: Message) => void>()
  const listeners = new Map<string, (message: Message) => void>()
  let last = 0
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id === undefined) listeners.get(message["sessionId"])?.(message)
    else waiting.get(message.id)?.(message)
  })
  const call = (method: string, params: object, sessionId?: string): Effect.Effect<Message> =>
    Effect.callback<Message>((resume) => {
      const id = ++last
      waiting.set(id, ({ result, error }) => {
        waiting.delete(id)
        resume(error === undefined ? Effect.succeed(result) : Effect.die(new Error(`${method}: ${error.message}`)))
      })
      socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
  return { socket, call, listen: (sessionId: string, listener: (message: Message) => void) => void listeners.set(sessionId, listener) }
}
