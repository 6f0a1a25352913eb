/** W1: a switch that counts how often it was turned. A round creates one and turns it eight times. */
export interface Toggle {
  readonly status: string
  readonly count: number
}

export const turns = 8

/** The end that every contestant must reach. */
export const expected: Toggle = { status: "Off", count: turns }
