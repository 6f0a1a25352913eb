import * as Schema from "effect/Schema"

/** A simulation could not go on. What a machine merely refuses is in the simulation's `refusals` instead. */
export class SimulationFailed extends Schema.TaggedError<SimulationFailed>()("SimulationFailed", {
  machine: Schema.String,
  state: Schema.String,
  event: Schema.optionalKey(Schema.String),
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    const on = this.event === undefined ? "" : ` × ${this.event}`
    return `${this.machine}: the simulation cannot go on at ${this.state}${on}: ${this.problem}; ${this.nextStep}`
  }
}
