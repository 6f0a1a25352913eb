/** Servers and browsers for measurements of the console. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"

export interface Filling {
  readonly kind: "rows" | "history" | "many" | "documents"
  readonly total: number
  /** The address of a PostgreSQL database. Default: a SQLite file of its own. */
  readonly database?: string
}

/** Serves a filled workspace while `use` runs. */
export const withServer = async <A>(
  { kind, total, database = "" }: Filling,
  use: (url: string, input: string) => Promise<A>,
): Promise<A> => {
  const folder = temporaryFolder()
  const args = [join(import.meta.dirname, "serving.ts"), folder.file("home"), database, kind, String(total)]
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] })
  try {
    const [line] = (await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`serving.ts ended with ${code} before it was ready`))),
    ])) as [Buffer]
    const { port, input } = JSON.parse(line.toString()) as { readonly port: number; readonly input: string }
    return await use(`http://127.0.0.1:${port}`, input)
  } finally {
    child.stdin.end()
    if (child.exitCode === null) await once(child, "close")
    folder.remove()
  }
}

/** A headless browser. CHROMIUM is the path of its executable. Default: the browser of the system. */
export const withPage = async <A>(use: (page: Page) => Promise<A>): Promise<A> => {
  const browser: Browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  })
  try {
    return await use(await browser.newPage({ viewport: { width: 1280, height: 900 } }))
  } finally {
    await browser.close()
  }
}

export interface Patience {
  /** How long an expression may take to become true. Default: a minute. */
  readonly seconds?: number
  /** The interval of evaluation; a short one takes time from the page. Default: 10 ms. */
  readonly everyMillis?: number
}

/** Waits until an expression is true in the page. Polls from outside, because the page's content policy forbids evaluation inside. */
export const until = async (page: Page, expression: string, { seconds = 60, everyMillis = 10 }: Patience = {}): Promise<void> => {
  for (const deadline = performance.now() + seconds * 1000; performance.now() < deadline; ) {
    if ((await page.evaluate(expression)) === true) return
    await new Promise((resolve) => setTimeout(resolve, everyMillis))
  }
  throw new Error(`not true after ${seconds} s: ${expression}`)
}
