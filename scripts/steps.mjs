/** The steps of `npm run check` and `npm test`. A failing step does not keep the next from running: all problems are seen at once. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { diagnosed, root, typed } from "./projects.mjs"
import { run } from "./run.mjs"

// These two colour their output even when it goes to a file.
const biomeColors = process.stdout.isTTY ? [] : ["--colors=off"]
const effectColors = process.stdout.isTTY ? [] : ["--format=text"]

/** @typedef {{ readonly passed: number, readonly failed: number, readonly failures: ReadonlyArray<string> }} Tally */

/**
 * @typedef {{
 *   readonly numPassedTests: number
 *   readonly numFailedTests: number
 *   readonly testResults: ReadonlyArray<{
 *     readonly name: string
 *     readonly status: string
 *     readonly assertionResults: ReadonlyArray<{ readonly status: string, readonly fullName: string }>
 *   }>
 * }} VitestReport
 */

/** Everything but the tests. */
export function checks() {
  return [
    step("types", () => one(each(typed, (project) => run("tsc", ["--noEmit", "-p", project])))),
    step("effect diagnostics", () => one(each(diagnosed, effectDiagnostics))),
    step("lint and format", () => one(run("biome", ["ci", "--error-on-warnings", ...biomeColors]))),
    step("imports", () => one(run("node", ["scripts/check-imports.mjs"]))),
    step("documents", () => one(run("node", ["scripts/check-documents.mjs"]))),
    step("links", () => one(run("node", ["scripts/check-links.mjs"]))),
    step("infrastructure", () => one(run("node", ["infra/check/run.ts"]))),
  ]
}

/**
 * @param {ReadonlyArray<string>} filters arguments for vitest
 */
export function tests(filters) {
  return step("tests", () => {
    const folder = mkdtempSync(join(tmpdir(), "detent-"))
    const report = join(folder, "report.json")
    try {
      const succeeded = run("vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...filters])
      return count(report, succeeded)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

/**
 * Prints the name of everything that failed and the closing line, and sets the exit code.
 *
 * @param {ReadonlyArray<Tally>} tallies
 */
export function conclude(tallies) {
  const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0)
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
  const failures = tallies.flatMap((tally) => tally.failures)
  if (failures.length > 0) console.log(`\nFailed:\n${failures.map((failure) => `  ${failure}`).join("\n")}`)
  console.log(`\n${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

/**
 * @param {string} name
 * @param {() => Tally} work
 * @returns {Tally}
 */
function step(name, work) {
  console.log(`\n=== ${name}`)
  const start = performance.now()
  const { passed, failed, failures } = work()
  const tally = { passed, failed, failures: failed > 0 && failures.length === 0 ? [name] : failures }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`=== ${name}: ${tally.failed === 0 ? "ok" : "FAILED"} in ${seconds} s`)
  return tally
}

/** @param {string} project */
function effectDiagnostics(project) {
  return run("effect-tsgo", ["diagnostics", "--project", project, "--strict", "--severity=error,warning", ...effectColors])
}

/**
 * @param {string} report
 * @param {boolean} succeeded
 * @returns {Tally}
 */
function count(report, succeeded) {
  // vitest ended before it could write its report; it has said why.
  if (!existsSync(report)) return { passed: 0, failed: 1, failures: [] }
  /** @type {VitestReport} */
  const result = JSON.parse(readFileSync(report, "utf8"))
  const failures = result.testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(root, name)
    if (status === "failed" && assertionResults.length === 0) return [`${file} did not load`]
    return assertionResults.filter((test) => test.status === "failed").map((test) => `${file}: ${test.fullName}`)
  })
  const notLoaded = result.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length
  const failed = result.numFailedTests + notLoaded
  // An unhandled rejection fails the run without failing a test.
  return { passed: result.numPassedTests, failed: succeeded ? failed : Math.max(1, failed), failures }
}

/**
 * @param {boolean} succeeded
 * @returns {Tally}
 */
function one(succeeded) {
  return { passed: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, failures: [] }
}

/**
 * Unlike `every`, continues after a failure.
 *
 * @template A
 * @param {ReadonlyArray<A>} items
 * @param {(item: A) => boolean} succeeds
 */
function each(items, succeeds) {
  return items.map(succeeds).every(Boolean)
}
