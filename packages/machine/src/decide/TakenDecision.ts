/** Decisions that change something: made once for every event that is taken, so they are made of as little as possible. */

import type { Tagged } from "../define/Declarations.ts"
import type { Goto, Hook, Request, Stay, Stop, TimerRequest } from "./Decision.ts"
import type { Frame } from "./Frame.ts"

export const none: ReadonlyArray<never> = Object.freeze([])

/** One shape for all decisions that are taken: the engine keeps reading them fast. */
export class TakenDecision {
  readonly _tag: "Goto" | "Stay" | "Stop"
  readonly from: Tagged
  readonly state: Tagged
  readonly event: Tagged
  readonly answer: unknown
  requests: ReadonlyArray<Request> = none
  sends: ReadonlyArray<Tagged> = none
  through: ReadonlyArray<Tagged> = none
  hooks: ReadonlyArray<Hook> = none
  timers: ReadonlyArray<TimerRequest> = none
  guardAnswers: ReadonlyArray<boolean> = none
  inlineGuards = false
  reason: string | undefined = undefined

  constructor(tag: "Goto" | "Stay" | "Stop", from: Tagged, event: Tagged, state: Tagged, answer: unknown) {
    this._tag = tag
    this.from = from
    this.state = state
    this.event = event
    this.answer = answer
  }
}

export const taken = (
  tag: "Goto" | "Stay" | "Stop",
  frame: Frame,
  event: Tagged,
  state: Tagged,
  through: ReadonlyArray<Tagged>,
  answer: unknown,
  reason: string | undefined,
): TakenByTag => {
  const decision = new TakenDecision(tag, frame.state, event, state, answer)
  decision.requests = frame.requests
  decision.sends = frame.sends
  decision.through = through
  decision.hooks = frame.hooks
  decision.timers = frame.timers
  decision.guardAnswers = frame.guardAnswers
  decision.inlineGuards = frame.inlineGuards
  decision.reason = reason
  frame.closed = true
  return decision as TakenByTag
}

export type TakenByTag = Goto<Tagged, Tagged> | Stay<Tagged, Tagged> | Stop<Tagged, Tagged>
