/** Whether the server is stopping: it finishes requests in flight, and takes no new ones. */
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
