/** Helpers to test machines: simulate, assert, run under a test clock, generate, explore. */
export { arbitrary, type Generators } from "./Arbitrary.ts"
export { assertNeverReaches, assertPath, assertReaches } from "./Assertions.ts"
export { type ExploreOptions, explore, observe } from "./Explore.ts"
export {
  type ConstantGuard,
  type EndlessAlways,
  type ExploreReport,
  type NeverProduced,
  type NotExplored,
  type ObservedTargets,
  problemsIn,
  type Sample,
  type StateFinding,
  type Throwing,
  type UndeclaredSlots,
} from "./ExploreReport.ts"
export { formatReport } from "./FormatReport.ts"
export { createTestHarness, type HarnessEffects, type HarnessOptions, type TestHarness } from "./Harness.ts"
export { LifeEvent, LifeState, recordedLife } from "./RecordedLife.ts"
export {
  type Advance,
  advance,
  type Refusal,
  type SimulateOptions,
  type Simulation,
  type SimulationOf,
  simulate,
  simulateEffect,
} from "./Simulate.ts"
export { SimulationFailed } from "./SimulationFailed.ts"
