import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"

const entry = JSON.stringify(join(import.meta.dirname, "../../src/promise.ts"))

/** The database drivers that a process has loaded after it opened an engine. */
const driversOf = (database: string): ReadonlyArray<string> => {
  const program = `
    import { registerHooks } from "node:module"
    const loaded = new Set()
    registerHooks({
      load(url, context, next) {
        const name = /node:(sqlite)|node_modules\\/(pg)\\/|driver\\/(\\w+Client)/.exec(url)
        if (name !== null) loaded.add(name[1] ?? name[2] ?? name[3])
        return next(url, context)
      },
    })
    const { openEngine } = await import(${entry})
    const engine = await openEngine({ database: ${JSON.stringify(database)} }).catch(() => undefined)
    await engine?.close()
    console.log(JSON.stringify([...loaded].sort()))
  `
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }))
}

it("only the driver of the database that is opened is loaded", () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-promise-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  expect(driversOf("memory")).toEqual([])
  expect(driversOf(`sqlite:${join(folder, "orders.db")}`)).toEqual(["SqliteClient", "sqlite"])
  // Nothing listens there: the driver is loaded before that is known.
  expect(driversOf("postgres://127.0.0.1:1/none")).toEqual(["PgClient", "pg"])
})
