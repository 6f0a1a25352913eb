/** Helpers to test machines: simulate, assert, run under a test clock, generate, explore. */
export { arbitrary, type Generators } from "./Arbitrary.ts"
export { assertNeverReaches, assertPath, assertReaches } from "./Assertions.ts"
export { type CheckOptions, check } from "./check/Check.ts"
export {
  type CheckReport,
  type Counterexample,
  type CounterexampleStep,
  formatCheck,
  type PropertyResult,
  unproved,
} from "./check/CheckReport.ts"
export type { EffectResult } from "./check/Domain.ts"
export { alwaysEventually, type Condition, leadsTo, never, type Property, type Situation } from "./check/Property.ts"
export type { Faults } from "./check/World.ts"
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
