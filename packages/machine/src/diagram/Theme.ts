/** The colours of diagrams. The pairs of text and fill have a contrast of at least 4.5 to 1. */

export interface Theme {
  readonly background: string
  readonly text: string
  /** Secondary text: commands, fields, durations. */
  readonly faint: string
  /** Edges and borders. */
  readonly line: string
  readonly boxFill: string
  readonly boxLine: string
  readonly groupFill: string
  readonly groupLine: string
  readonly timeout: string
  readonly stop: string
  readonly stopFill: string
  readonly taken: string
  readonly visitedFill: string
  readonly currentFill: string
  readonly currentText: string
}

export const light: Theme = {
  background: "#ffffff",
  text: "#1c2430",
  faint: "#566174",
  line: "#5b6779",
  boxFill: "#f6f8fb",
  boxLine: "#93a0b4",
  groupFill: "#eef2f7",
  groupLine: "#c3ccd9",
  timeout: "#a04d00",
  stop: "#b3261e",
  stopFill: "#fdecea",
  taken: "#0a60b8",
  visitedFill: "#dcebfb",
  currentFill: "#0b5cad",
  currentText: "#ffffff",
}

export const dark: Theme = {
  background: "#12161d",
  text: "#e8ecf2",
  faint: "#a7b1c0",
  line: "#8d99ab",
  boxFill: "#1d2430",
  boxLine: "#5c6a80",
  groupFill: "#171d27",
  groupLine: "#3a4556",
  timeout: "#f2a65a",
  stop: "#ff8a80",
  stopFill: "#33191a",
  taken: "#6cb6ff",
  visitedFill: "#1b3350",
  currentFill: "#6cb6ff",
  currentText: "#0b1220",
}
