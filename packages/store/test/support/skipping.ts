/** Tests that a machine cannot run, such as those of the console without a browser. */

declare module "vitest" {
  interface TaskMeta {
    /** The report of a run lists it with the test. */
    skipReason?: string
  }
}

/**
 * Options of a test or a suite that is skipped for a reason, if there is one: `describe("the console", unless(noBrowser), () => ...)`. The
 * report of a run lists the reason. With `CI=true`, a skipped test fails the run.
 */
export const unless = (reason: string | undefined) => (reason === undefined ? {} : { skip: true, meta: { skipReason: reason } })
