/** The steps of `npm run check` and `npm test`. The next step runs also after a failure, so that one run shows all problems. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs"
import { availableParallelism, freemem, setPriority, tmpdir } from "node:os"
import { join, relative } from "node:path"
import { diagnosed, root, typed } from "./projects.mjs"
import { run } from "./run.mjs"

// Biome and effect-tsgo colour their output even when it goes to a file.
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

/**
 * Each checker of the compiler computes shared types by itself: with four checkers, the default, on two cores it takes 1.5 times the
 * CPU time of two checkers.
 */
const checkers = ["--checkers", String(Math.min(4, availableParallelism()))]

/** Everything but the tests. */
export function checks() {
  return [
    step("types", () => one(each(typed, (project) => run("tsc", ["--noEmit", "-p", project, ...checkers])))),
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
 * Runs the checks in a child process beside the tests: tests wait for processes, leases and timers, and the checks use the processor
 * meanwhile. They have a lower priority, so that they hardly slow the tests down.
 *
 * @returns {() => Promise<ReadonlyArray<Tally>>} waits for the end of the checks and prints their output
 */
export function startChecks() {
  const folder = mkdtempSync(join(tmpdir(), "detent-"))
  const output = join(folder, "output.txt")
  const file = openSync(output, "w")
  const child = fork(join(root, "scripts/check.mjs"), { stdio: ["ignore", file, file, "ipc"] })
  closeSync(file)
  if (child.pid !== undefined) setPriority(child.pid, 5)
  /** @type {ReadonlyArray<Tally>} */
  let tallies = [{ passed: 0, failed: 1, failures: ["checks"] }]
  child.on("message", (/** @type {ReadonlyArray<Tally>} */ message) => {
    tallies = message
  })
  const ended = once(child, "close")
  return async () => {
    await ended
    process.stdout.write(readFileSync(output, "utf8"))
    rmSync(folder, { recursive: true })
    return tallies
  }
}

/**
 * Many tests kill processes and wait for leases, so other load on the machine can make one fail. When few files fail, they run once more,
 * one after the other with no other load. A test that fails again counts as failed; one that passes counts as passed and is listed, because
 * it depends on the load of the machine and must be fixed.
 *
 * @param {ReadonlyArray<string>} filters arguments for vitest
 * @param {() => Promise<ReadonlyArray<Tally>>} [checksBeside] from `startChecks`: waited for before tests that failed run again
 * @returns {Promise<ReadonlyArray<Tally>>} of the tests, and of the checks beside them
 */
export async function tests(filters, checksBeside = async () => []) {
  /** @type {Outcome} */
  let first = { succeeded: false, passed: 0, failures: [] }
  const tally = step("tests", () => {
    first = vitest(filters)
    return tallyOf(first)
  })
  const checked = await checksBeside()
  const files = [...new Set(first.failures.map(({ file }) => file))]
  if (files.length === 0 || files.length > mostFilesToRepeat) return [...checked, tally]
  return [...checked, step(`tests that failed, alone: ${files.join(" ")}`, () => repeated(first, files))]
}

/**
 * @param {Outcome} first
 * @param {ReadonlyArray<string>} files those with failures
 * @returns {Tally} of all tests
 */
function repeated(first, files) {
  const again = vitest(["--maxWorkers=1", ...files])
  const failedTwice = new Set(again.failures.map(nameOf))
  const passedAlone = first.failures.filter((failure) => !failedTwice.has(nameOf(failure)))
  if (passedAlone.length > 0) {
    console.log(`\nFailed beside other tests, passed alone:\n${passedAlone.map((failure) => `  ${nameOf(failure)}`).join("\n")}`)
  }
  if (again.succeeded) return { passed: first.passed + passedAlone.length, failed: 0, failures: [] }
  return tallyOf({ ...again, passed: first.passed + passedAlone.length })
}

/** If more files fail than this, load is not the reason. */
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
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
    const succeeded = inMemory((variables) => run("vitest", ["run", ...reporters, ...args], variables))
    // Vitest ended before it wrote its report, and printed the reason.
    if (!existsSync(report)) return { succeeded: false, passed: 0, failures: [] }
    /** @type {VitestReport} */
    const result = JSON.parse(readFileSync(report, "utf8"))
    return { succeeded, passed: result.numPassedTests, failures: result.testResults.flatMap(failuresOf) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * Gives tests a temporary folder in memory, if the machine has one with enough room, so that their databases do not wait for a disk. No
 * test cuts the power, so none needs its files on a disk; the files of killed processes remain in memory too.
 *
 * @template A
 * @param {(variables: Readonly<Record<string, string>>) => A} work gets the variables of the environment that name the folder
 * @returns {A}
 */
function inMemory(work) {
  if (!existsSync(sharedMemory)) return work({})
  removeInterrupted()
  const { bavail, bsize } = statfsSync(sharedMemory)
  if (Math.min(bavail * bsize, freemem()) < mostInMemory) return work({})
  const folder = mkdtempSync(join(sharedMemory, `${inMemoryPrefix}${process.pid}-`))
  // PostgreSQL runs as another user where the tests run as root.
  chmodSync(folder, 0o755)
  try {
    return work({ TMPDIR: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const sharedMemory = "/dev/shm"
const inMemoryPrefix = "detent-tests-"

/** Far more than the files of a run take at a time, because its processes need memory too. */
const mostInMemory = 8 * 1024 ** 3

/** Removes folders of interrupted runs: Ctrl-C ends a run before it can. */
function removeInterrupted() {
  for (const name of readdirSync(sharedMemory).filter((name) => name.startsWith(inMemoryPrefix))) {
    const [pid = ""] = name.slice(inMemoryPrefix.length).split("-")
    if (!existsSync(`/proc/${pid}`)) rmSync(join(sharedMemory, name), { recursive: true, force: true })
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
