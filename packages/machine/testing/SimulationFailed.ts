import * as Schema from "effect/Schema"

/** A simulation could not continue. Events that the machine refuses are in its `refusals` instead. */
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
    return `${this.machine}: the simulation cannot continue at ${this.state}${on}: ${this.problem}; ${this.nextStep}`
  }
}
