/**
 * A reporter for Vitest that writes what `scripts/steps.mjs` counts: the tests that passed, failed and were skipped, each skip with its
 * reason. `DETENT_TEST_REPORT` names the file.
 */
import { writeFileSync } from "node:fs"
import { relative } from "node:path"
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from "vitest/node"
import { root } from "./projects.mjs"

export interface Failure {
  readonly file: string
  /** Without it, the file did not load. */
  readonly test: string | undefined
}

export interface Skip {
  readonly file: string
  readonly test: string
  readonly reason: string | undefined
}

export interface Report {
  /** The number of tests that passed, by file. */
  readonly passed: Readonly<Record<string, number>>
  readonly failures: ReadonlyArray<Failure>
  readonly skips: ReadonlyArray<Skip>
  /** Errors outside of tests, such as rejections that no code handles. */
  readonly errors: ReadonlyArray<string>
}

/** Tests do not run when the set-up of a suite around them fails, or when their file does not load. */
const isBroken = (task: TestCase | TestSuite | TestModule): boolean =>
  (task.type !== "test" && task.errors().length > 0) || (task.type !== "module" && isBroken(task.parent))

export default class TestReport implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): void {
    const file = process.env["DETENT_TEST_REPORT"]
    if (file === undefined) return
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const isFiltered = this.#vitest?.getGlobalTestNamePattern() !== undefined
    const skips = tests.flatMap((test): ReadonlyArray<Skip> => {
      const result = test.result()
      if (result.state !== "skipped" || isBroken(test)) return []
      // A suite passes its reason on to its tests: see `unless` in packages/store/test/support/skipping.ts.
      const reason = result.note ?? test.meta().skipReason
      // `--testNamePattern` skips all tests with other names.
      return isFiltered && reason === undefined ? [] : [{ file: fileOf(test.module), test: test.fullName, reason }]
    })
    const report: Report = {
      passed: Object.fromEntries(modules.map((module) => [fileOf(module), [...module.children.allTests("passed")].length])),
      failures: [
        ...modules.filter((module) => module.errors().length > 0).map((module) => ({ file: fileOf(module), test: undefined })),
        ...modules
          .flatMap((module) => [...module.children.allSuites()])
          .filter((suite) => suite.errors().length > 0)
          .map((suite) => ({ file: fileOf(suite.module), test: `${suite.fullName}: set-up or clean-up` })),
        ...tests
          .filter((test) => test.result().state === "failed" || test.result().state === "pending")
          .map((test) => ({ file: fileOf(test.module), test: test.fullName })),
      ],
      skips,
      errors: unhandled.map(({ name, message }) => `${name}: ${message}`),
    }
    writeFileSync(file, JSON.stringify(report))
  }
}

const fileOf = (module: TestModule) => relative(root, module.moduleId).replaceAll("\\", "/")
