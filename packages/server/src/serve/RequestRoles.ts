/**
 * The role of each request in flight, from the guard to the handlers. It stands beside the request and never in its headers: a
 * tracer exports headers, and a client can add headers to each message of a procedure call.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { AccessRole } from "./Tokens.ts"

export class RoleTable {
  /** By Node's own request, which lives as long as the request or its WebSocket. */
  readonly #roles = new WeakMap<object, AccessRole>()

  set(request: object, role: AccessRole) {
    this.#roles.set(request, role)
  }

  get(request: object): AccessRole | undefined {
    return this.#roles.get(request)
  }
}

export class RequestRoles extends Context.Service<RequestRoles, RoleTable>()("@detent/server/RequestRoles") {
  static readonly layer = Layer.sync(RequestRoles, () => new RoleTable())
}
