/** The steps of `npm run check`, `npm test` and `npm run proofs`. The next step runs also after a failure, so that one run shows all problems. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs"
import { availableParallelism, freemem, setPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { diagnosed, root, typed } from "./projects.mjs"
import { run } from "./run.mjs"

// Biome and effect-tsgo colour their output even when it goes to a file.
const biomeColors = process.stdout.isTTY ? [] : ["--colors=off"]
const effectColors = process.stdout.isTTY ? [] : ["--format=text"]

/**
 * @typedef {import("./TestReport.ts").Report} Report
 * @typedef {import("./TestReport.ts").Failure} Failure
 * @typedef {import("./TestReport.ts").Skip} Skip
 */

/**
 * Failures are the names of what failed. Repeated tests failed beside other tests and passed alone. Skipped tests are those with a reason.
 *
 * @typedef {{
 *   readonly passed: number
 *   readonly failed: number
 *   readonly failures: ReadonlyArray<string>
 *   readonly repeated?: ReadonlyArray<string>
 *   readonly skips?: ReadonlyArray<Skip>
 * }} Tally
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
    step("regular expressions", () => one(run("node", ["scripts/patterns/check.mjs"]))),
    step("uses of Effect", () => one(run("node", ["scripts/check-effect.mjs"]))),
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
 * The projects of vitest.config.ts with the tests that every contributor runs, and those with the proofs, which take longer.
 */
export const testProjects = ["test", "test on PostgreSQL"]
export const proofProjects = ["proof", "proof on PostgreSQL"]

/**
 * When few files fail, they run once more, one after the other with no other load. A test that fails again counts as failed. One that passes
 * counts as passed and as repeated: either the test or the product depends on the load of the machine, which is a fault.
 *
 * @param {string} name
 * @param {ReadonlyArray<string>} projects
 * @param {ReadonlyArray<string>} filters arguments for vitest
 * @param {() => Promise<ReadonlyArray<Tally>>} [checksBeside] from `startChecks`: waited for before tests that failed run again
 * @returns {Promise<ReadonlyArray<Tally>>} of the tests, and of the checks beside them
 */
export async function tests(name, projects, filters, checksBeside = async () => []) {
  const options = [...projects.map((project) => `--project=${project}`), ...filters]
  /** @type {Outcome} */
  let first = { succeeded: false, report: nothing }
  const tally = step(name, () => {
    first = vitest(options)
    return tallyOf(first)
  })
  const checked = await checksBeside()
  const files = [...new Set(first.report.failures.map(({ file }) => file))]
  if (files.length === 0 || files.length > mostFilesToRepeat) return [...checked, tally]
  return [...checked, step(`${name} that failed, alone: ${files.join(" ")}`, () => repeat(first, projects, files))]
}

/**
 * @param {Outcome} first
 * @param {ReadonlyArray<string>} projects
 * @param {ReadonlyArray<string>} files those with failures
 * @returns {Tally} of all tests
 */
function repeat(first, projects, files) {
  const again = vitest([...projects.map((project) => `--project=${project}`), "--maxWorkers=1", ...files])
  const failedTwice = new Set(again.report.failures.map(nameOf))
  /** @type {Report} */
  const report = {
    passed: { ...first.report.passed, ...again.report.passed },
    failures: again.report.failures,
    skips: [...first.report.skips.filter(({ file }) => !files.includes(file)), ...again.report.skips],
    // Those of the first run belong to no file, so the second run cannot show that they depend on load.
    errors: [...first.report.errors, ...again.report.errors],
  }
  const repeated = first.report.failures.map(nameOf).filter((name) => !failedTwice.has(name))
  return { ...tallyOf({ succeeded: again.succeeded && report.errors.length === 0, report }), repeated }
}

/** If more files fail than this, load is not the reason. */
const mostFilesToRepeat = 6

/** @typedef {{ readonly succeeded: boolean, readonly report: Report }} Outcome */

/** @type {Report} */
const nothing = { passed: {}, failures: [], skips: [], errors: [] }

/**
 * Vitest, or the machine, ended the run before the last test.
 *
 * @type {Report}
 */
const withoutReport = { ...nothing, errors: ["vitest ended without a report: the end of its output above says why"] }

/** @param {Failure} failure */
function nameOf({ file, test }) {
  return test === undefined ? `${file} did not load` : `${file}: ${test}`
}

/**
 * @param {Outcome} outcome
 * @returns {Tally} with at least one failure if vitest failed
 */
function tallyOf({ succeeded, report }) {
  const unexplained = report.skips
    .filter(({ reason }) => reason === undefined)
    .map(({ file, test }) => `${file}: ${test} is skipped without a reason`)
  const failures = [...report.failures.map(nameOf), ...report.errors, ...unexplained]
  const skips = report.skips.filter(({ reason }) => reason !== undefined)
  const passed = Object.values(report.passed).reduce((sum, count) => sum + count, 0)
  return { passed, failed: succeeded ? failures.length : Math.max(1, failures.length), failures, skips }
}

/**
 * @param {ReadonlyArray<string>} args
 * @returns {Outcome}
 */
function vitest(args) {
  const folder = mkdtempSync(join(tmpdir(), "detent-"))
  const file = join(folder, "report.json")
  try {
    const reporters = ["--reporter=default", "--reporter=./scripts/TestReport.ts"]
    const variables = { DETENT_TEST_REPORT: file }
    const succeeded = inMemory((more) => run("vitest", ["run", ...reporters, ...args], { ...variables, ...more }))
    return { succeeded, report: existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : withoutReport }
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
 * Prints the name of everything that failed, the reasons of what was skipped, the repeated tests, and the closing line, which is the last.
 * Sets the exit code.
 *
 * @param {ReadonlyArray<Tally>} tallies
 */
export function conclude(tallies) {
  const skips = tallies.flatMap((tally) => tally.skips ?? [])
  const repeated = tallies.flatMap((tally) => tally.repeated ?? [])
  const refused = process.env["CI"] === "true" ? refusedByCi(repeated, skips) : []
  const passed = sumOf(tallies, ({ passed }) => passed)
  const failed = sumOf(tallies, ({ failed }) => failed) + refused.length
  const failures = [...tallies.flatMap((tally) => tally.failures), ...refused]
  if (skips.length > 0) console.log(`\nSkipped:\n${skipLines(skips).join("\n")}`)
  if (failures.length > 0) console.log(`\nFailed:\n${failures.map((failure) => `  ${failure}`).join("\n")}`)
  console.log(`\n${repeated.length} repeated${repeated.map((name, index) => `${index === 0 ? ": " : "; "}${name}`).join("")}`)
  console.log(`${passed} passed, ${failed} failed, ${skips.length} skipped`)
  process.exitCode = failed === 0 ? 0 : 1
}

/**
 * With `CI=true`, repeated and skipped tests fail the run: nothing there may disturb a test or be missing.
 *
 * @param {ReadonlyArray<string>} repeated
 * @param {ReadonlyArray<Skip>} skips
 */
function refusedByCi(repeated, skips) {
  return [
    ...(repeated.length > 0 ? [`${repeated.length} repeated tests, which CI does not allow`] : []),
    ...(skips.length > 0 ? [`${skips.length} skipped tests, which CI does not allow`] : []),
  ]
}

/**
 * @param {ReadonlyArray<Tally>} tallies
 * @param {(tally: Tally) => number} count
 */
function sumOf(tallies, count) {
  return tallies.reduce((sum, tally) => sum + count(tally), 0)
}

/**
 * @param {ReadonlyArray<Skip>} skips
 * @returns {ReadonlyArray<string>} each reason once, with the tests below it
 */
function skipLines(skips) {
  const reasons = [...new Set(skips.map(({ reason }) => reason))]
  return reasons.flatMap((reason) => [
    `  ${reason}`,
    ...skips.filter((skip) => skip.reason === reason).map(({ file, test }) => `    ${file}: ${test}`),
  ])
}

/**
 * @param {string} name
 * @param {() => Tally} work
 * @returns {Tally}
 */
function step(name, work) {
  console.log(`\n=== ${name}`)
  const start = performance.now()
  const done = work()
  const tally = done.failed > 0 && done.failures.length === 0 ? { ...done, failures: [name] } : done
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
