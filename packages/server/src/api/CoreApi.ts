/** The part of the API that every server offers: machines, instances, executions, commands, nodes, health. */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { ClusterApi } from "../cluster/Api.ts"
import { CommandApi } from "../commands/Api.ts"
import { ExecutionApi } from "../executions/Api.ts"
import { InstanceApi } from "../instances/Api.ts"
import { LiveApi } from "../live/Api.ts"
import { MachineApi } from "../machines/Api.ts"
import { SessionApi } from "../session/Api.ts"
import { SystemApi } from "../system/Api.ts"
import { withRefusals } from "./Refusals.ts"
import { Refusing } from "./Refusing.ts"
import { withSecurity } from "./Security.ts"

export class CoreApi extends HttpApi.make("detent")
  .add(MachineApi, InstanceApi, ExecutionApi, CommandApi, ClusterApi, LiveApi, SessionApi, SystemApi)
  .middleware(Refusing)
  .annotate(OpenApi.Title, "Detent")
  .annotate(OpenApi.Version, "1")
  .annotate(OpenApi.Description, "Durable state machines and batch workflows. Errors are problem details with a next step.")
  .annotate(OpenApi.Transform, (document: Record<string, unknown>) => withRefusals(withSecurity(document))) {}
