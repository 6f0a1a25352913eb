export {
  type Delivery,
  type DeliveryFault,
  type FakeCloudTasks,
  type FakeCloudTasksOptions,
  startFakeCloudTasks,
} from "./FakeCloudTasks.ts"
export { type FakeGcs, type FakeGcsOptions, startFakeGcs } from "./FakeGcs.ts"
export { type FakeS3, type FakeS3Options, startFakeS3 } from "./FakeS3.ts"
export { byChance, type Fault, type FaultPlan, inTurn } from "./FakeServer.ts"
