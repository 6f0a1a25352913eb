/** Whether the server is on its way out: it finishes what it has, and takes nothing new. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

export class StoppingFlag {
  #stopping = false

  get isStopping(): boolean {
    return this.#stopping
  }

  begin() {
    this.#stopping = true
  }
}

export class Stopping extends Context.Service<Stopping, StoppingFlag>()("@detent/server/Stopping") {
  static readonly layer = Layer.sync(Stopping, () => new StoppingFlag())
}
