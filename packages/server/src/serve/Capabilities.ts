/**
 * What a request may do, as the door found out, told to those behind it. Procedures are called with headers that a client can
 * add to, so the role is told by a secret that only this process knows.
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
