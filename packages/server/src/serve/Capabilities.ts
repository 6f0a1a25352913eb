/**
 * Passes the role of a request from the access check to the handlers. A client can add headers to procedure calls, so the role
 * is passed as a secret that only this process knows.
 */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { AccessRole } from "./Tokens.ts"

export const capabilityHeader = "x-detent-capability"

export class CapabilitySecrets {
  readonly #operate = randomBytes(32).toString("hex")
  readonly #read = randomBytes(32).toString("hex")

  secretOf(role: AccessRole): string {
    return role === "operate" ? this.#operate : this.#read
  }

  roleOf(secret: string | undefined): AccessRole | undefined {
    if (secret === this.#operate) return "operate"
    return secret === this.#read ? "read" : undefined
  }
}

export class Capabilities extends Context.Service<Capabilities, CapabilitySecrets>()("@detent/server/Capabilities") {
  static readonly layer = Layer.sync(Capabilities, () => new CapabilitySecrets())
}
