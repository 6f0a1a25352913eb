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
    step("spelling and words", () => one(run("node", ["scripts/spelling/check.mjs"]))),
    step("infrastructure", () => one(run("node", ["infra/check/run.ts"]))),
  ]
}

/**
 * Many tests kill processes and wait for leases, so a machine that is busy with other work can fail one of them. When few files fail, they
 * run once more, one after the other with nothing beside them. A test that fails then has failed; one that passes is counted as passed and
 * listed, because it depends on the load of the machine and needs mending.
 *
 * @param {ReadonlyArray<string>} filters arguments for vitest
 */
export function tests(filters) {
  return step("tests", () => {
    const first = vitest(filters)
    const files = [...new Set(first.failures.map(({ file }) => file))]
    if (files.length === 0 || files.length > mostFilesToRepeat) return tallyOf(first)
    console.log(`\n=== tests that failed, alone: ${files.join(" ")}`)
    const again = vitest(["--maxWorkers=1", ...files])
    const failedTwice = new Set(again.failures.map(nameOf))
    const passedAlone = first.failures.filter((failure) => !failedTwice.has(nameOf(failure)))
    if (passedAlone.length > 0) {
      console.log(`\nFailed beside other tests, passed alone:\n${passedAlone.map((failure) => `  ${nameOf(failure)}`).join("\n")}`)
    }
    if (again.succeeded) return { passed: first.passed + passedAlone.length, failed: 0, failures: [] }
    return tallyOf({ ...again, passed: first.passed + passedAlone.length })
  })
}

/** More failing files than this are no matter of load. */
const mostFilesToRepeat = 6

/**
 * @typedef {{ readonly file: string, readonly test: string | undefined }} Failure a file without a test did not load
 * @typedef {{ readonly succeeded: boolean, readonly passed: number, readonly failures: ReadonlyArray<Failure> }} Outcome
 */

/** @param {Failure} failure */
function nameOf({ file, test }) {
  return test === undefined ? `${file} did not load` : `${file}: ${test}`
}

/**
 * @param {Outcome} outcome
 * @returns {Tally} with at least one failure if vitest failed: an unhandled rejection fails a run without failing a test
 */
function tallyOf({ succeeded, passed, failures }) {
  return { passed, failed: succeeded ? 0 : Math.max(1, failures.length), failures: failures.map(nameOf) }
}

/**
 * @param {ReadonlyArray<string>} args
 * @returns {Outcome}
 */
function vitest(args) {
  const folder = mkdtempSync(join(tmpdir(), "detent-"))
  const report = join(folder, "report.json")
  try {
    const succeeded = run("vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...args])
    // vitest ended before it could write its report; it has printed the reason.
    if (!existsSync(report)) return { succeeded: false, passed: 0, failures: [] }
    /** @type {VitestReport} */
    const result = JSON.parse(readFileSync(report, "utf8"))
    return { succeeded, passed: result.numPassedTests, failures: result.testResults.flatMap(failuresOf) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * @param {VitestReport["testResults"][number]} result
 * @returns {ReadonlyArray<Failure>}
 */
function failuresOf({ name, status, assertionResults }) {
  const file = relative(root, name)
  const failed = assertionResults.filter((test) => test.status === "failed").map((test) => ({ file, test: test.fullName }))
  return status === "failed" && failed.length === 0 ? [{ file, test: undefined }] : failed
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
