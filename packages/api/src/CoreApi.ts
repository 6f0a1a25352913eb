/** The part of the API that every server offers: machines, instances, executions, commands, schedules, nodes, health. */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { withRefusals } from "./contract/Refusals.ts"
import { Refusing } from "./contract/Refusing.ts"
import { withSecurity } from "./contract/Security.ts"
import { AccessApi } from "./groups/AccessApi.ts"
import { ClusterApi } from "./groups/ClusterApi.ts"
import { CommandApi } from "./groups/CommandApi.ts"
import { ExecutionApi } from "./groups/ExecutionApi.ts"
import { InstanceApi } from "./groups/InstanceApi.ts"
import { LiveApi } from "./groups/LiveApi.ts"
import { MachineApi } from "./groups/MachineApi.ts"
import { ScheduleApi } from "./groups/ScheduleApi.ts"
import { SessionApi } from "./groups/SessionApi.ts"
import { SystemApi } from "./groups/SystemApi.ts"

export class CoreApi extends HttpApi.make("detent")
  .add(MachineApi, InstanceApi, ExecutionApi, CommandApi, ScheduleApi, ClusterApi, LiveApi, SessionApi, AccessApi, SystemApi)
  .middleware(Refusing)
  .annotate(OpenApi.Title, "Detent")
  .annotate(OpenApi.Version, "1")
  .annotate(OpenApi.Description, "Durable state machines and batch workflows. Errors are problem details with a next step.")
  .annotate(OpenApi.Transform, (document: Record<string, unknown>) => withRefusals(withSecurity(document))) {}
