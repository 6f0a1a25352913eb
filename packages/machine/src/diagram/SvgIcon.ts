/** The symbols before the lines of a box. Drawn, since fonts do not all have them as characters. */
import type { Line } from "./Scene.ts"
import { element } from "./SvgElement.ts"
import type { Point } from "./SvgLayout.ts"

/** A symbol of ten by ten pixels, centred at a point. Fields, tags and descriptions have none; an action is a small dot. */
export const icon = (kind: Line["kind"], { x, y }: Point, colour: string): ReadonlyArray<string> => {
  const stroke = { fill: "none", stroke: colour, "stroke-width": 1.3 }
  switch (kind) {
    case "Meta":
    case "Field":
      return []
    case "Update": {
      const tip = `${n(x + 4.6)},${n(y - 4.4)} ${n(x + 4.8)},${n(y + 0.2)} ${n(x + 0.8)},${n(y - 2)}`
      return [
        element("path", { d: `M${n(x + 2.6)} ${n(y - 2.9)}A3.9 3.9 0 1 0 ${n(x + 3.9)} ${n(y + 0.8)}`, ...stroke }),
        element("polygon", { points: tip, fill: colour }),
      ]
    }
    case "Stay":
      return [element("circle", { cx: x, cy: y, r: 3.6, ...stroke, "stroke-dasharray": "1.6 1.4" })]
    case "Postpone":
      return [
        element("rect", { x: x - 3.4, y: y - 4, width: 2.4, height: 8, fill: colour }),
        element("rect", { x: x + 1, y: y - 4, width: 2.4, height: 8, fill: colour }),
      ]
    case "Action":
      return [element("circle", { cx: x, cy: y, r: 2, fill: colour })]
    case "Request":
      return [
        element("circle", { cx: x, cy: y, r: 2.7, ...stroke, "stroke-width": 1.8 }),
        // Eight teeth: dashes of a circle just outside the wheel, whose circumference is 8 × 3.377.
        element("circle", { cx: x, cy: y, r: 4.3, ...stroke, "stroke-width": 1.8, "stroke-dasharray": "1.6 1.777" }),
      ]
    case "Work":
      return [element("polygon", { points: `${n(x - 3)},${n(y - 4)} ${n(x + 4)},${n(y)} ${n(x - 3)},${n(y + 4)}`, fill: colour })]
  }
}

const n = (value: number): number => Math.round(value * 10) / 10
