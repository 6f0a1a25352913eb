export { type FakeGcs, type FakeGcsOptions, startFakeGcs } from "./FakeGcs.ts"
export { type FakeS3, type FakeS3Options, startFakeS3 } from "./FakeS3.ts"
export {
  byChance,
  type FakeReply,
  type FakeRequest,
  type FakeServer,
  type Fault,
  type FaultPlan,
  inTurn,
  nowMillis,
  startServer,
} from "./FakeServer.ts"
