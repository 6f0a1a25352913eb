/** The lines inside a box as text. The symbols are ones that common fonts have, not emoji. */
import type { Line } from "./Scene.ts"

export const lineText = (line: Line): string => {
  switch (line.kind) {
    case "Meta":
    case "Field":
    case "Stay":
    case "Action":
      return line.text
    case "Update":
      return `↻ ${line.text}`
    case "Postpone":
      return `‖ ${line.text}`
    case "Request":
      return `⚙ ${line.text}`
    case "Work":
      return `▶ ${line.text}`
  }
}
