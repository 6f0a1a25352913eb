/** A real browser without a window, for the tests of a file. */
import { spawnSync } from "node:child_process"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Browser, chromium, type Page } from "playwright-core"
import { afterAll, beforeAll } from "vitest"
import { Patience, scaled } from "../../../store/test/support/patience.ts"

const names = ["chromium", "chromium-browser", "google-chrome"]

/** The path of the one that is installed. */
const installedBrowser = names.flatMap((name) => {
  const { status, stdout } = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" })
  return status === 0 ? [stdout.trim()] : []
})[0]

/** The reason to skip tests in a browser. */
export const noBrowser = installedBrowser === undefined ? `none of ${names.join(", ")} is installed` : undefined

export interface Tab {
  readonly page: Page
  /** Runs something against the page; a failure is a defect. */
  readonly run: <A>(act: (page: Page) => Promise<A>) => Effect.Effect<A>
  /** The value of an expression in the page. */
  readonly evaluate: (expression: string) => Effect.Effect<unknown>
  /** Ends when an expression in the page is true, or fails after a minute with the page's text. */
  readonly until: (expression: string) => Effect.Effect<void>
  /** Ends when the page shows a text. */
  readonly shows: (text: string) => Effect.Effect<void>
  /** Presses a key as a person does. */
  readonly press: (key: string) => Effect.Effect<void>
  /** Opens another address of the console without loading it anew, as a link does. */
  readonly visit: (path: string) => Effect.Effect<void>
  /** Gives the window a width, as if it were that of a phone or of a screen. */
  readonly resize: (width: number) => Effect.Effect<void>
  /** Another tab of the same person, with the same cookies. */
  readonly another: (url: string) => Effect.Effect<Tab>
  /** What the page did that it should not: errors, and what its content policy kept from it. */
  readonly problems: ReadonlyArray<string>
  /** The addresses it asked for. */
  readonly requests: ReadonlyArray<string>
}

export interface TabOptions {
  readonly theme?: "light" | "dark"
  readonly width?: number
}

/** A page that waits longer than this on an idle machine for something has failed. */
const longestWait = 60_000

/** Starts a browser before the tests, and ends it after them. Opens an address in a tab with cookies and storage of its own. */
export const useBrowser = (): ((url: string, options?: TabOptions) => Effect.Effect<Tab, never, Scope.Scope>) => {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: installedBrowser ?? "",
      args: ["--no-sandbox", "--disable-gpu"],
      timeout: scaled(longestWait),
    })
  })
  afterAll(() => browser?.close())
  return (url, { theme = "light", width = 1280 } = {}) =>
    Effect.gen(function* () {
      if (browser === undefined) return yield* Effect.die(new Error("the browser did not start"))
      const started = browser
      const context = yield* Effect.acquireRelease(
        Effect.promise(() => started.newContext({ colorScheme: theme, viewport: { width, height: 900 }, reducedMotion: "reduce" })),
        (opened) => Effect.promise(() => opened.close()),
      )
      return yield* openTab(() => context.newPage(), url)
    })
}

const openTab = (newPage: () => Promise<Page>, url: string): Effect.Effect<Tab> =>
  Effect.promise(async () => {
    const page = await newPage()
    page.setDefaultTimeout(scaled(longestWait))
    const problems: Array<string> = []
    const requests: Array<string> = []
    page.on("pageerror", (error) => problems.push(String(error)))
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${message.text()} ${message.location().url}`)
    })
    page.on("request", (request) => requests.push(request.url()))
    await page.goto(url)
    return makeTab(page, newPage, problems, requests)
  })

const makeTab = (page: Page, newPage: () => Promise<Page>, problems: ReadonlyArray<string>, requests: ReadonlyArray<string>): Tab => {
  const run = <A>(act: (shown: Page) => Promise<A>) => Effect.promise(() => act(page))
  const evaluate = (expression: string) => run((shown) => shown.evaluate(expression))
  const until = (expression: string): Effect.Effect<void> =>
    Effect.gen(function* () {
      const patience = new Patience(longestWait)
      while (!patience.isOver) {
        // A page that is left for the next one has no answer.
        if (
          (yield* Effect.orElseSucceed(
            Effect.tryPromise(() => page.evaluate(expression)),
            () => false,
          )) === true
        )
          return
        yield* Effect.sleep("50 millis")
      }
      const text = yield* evaluate("document.body.innerText")
      return yield* Effect.die(new Error(`not true: ${expression}; the page says:\n${text}\n${problems.join("\n")}`))
    })
  return {
    page,
    run,
    evaluate,
    until,
    shows: (text) => until(`document.body.innerText.includes(${JSON.stringify(text)})`),
    press: (key) => run((shown) => shown.keyboard.press(key)),
    visit: (path) =>
      Effect.asVoid(evaluate(`history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`)),
    resize: (width) => run((shown) => shown.setViewportSize({ width, height: 900 })),
    another: (url) => openTab(newPage, url),
    problems,
    requests,
  }
}
