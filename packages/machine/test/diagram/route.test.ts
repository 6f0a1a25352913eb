import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import * as Scene from "../../src/diagram/Scene.ts"
import { type Area, layout, type PlacedEdge, type Point } from "../../src/diagram/SvgLayout.ts"
import { tidy } from "../../src/diagram/SvgRoute.ts"
import { machines } from "./fixtures.ts"

const edge: Scene.Edge = {
  kind: "Event",
  from: "state:A",
  to: "state:B",
  label: ["Go"],
  causes: 1,
  description: undefined,
  taken: false,
}

const areas: { readonly [key: string]: Area } = {
  "state:A": { x: 0, y: 0, width: 100, height: 40 },
  "state:B": { x: 0, y: 200, width: 100, height: 40 },
}

const areaOf = (key: string): Area => areas[key] ?? { x: 0, y: 0, width: 0, height: 0 }

const through = (...points: ReadonlyArray<readonly [x: number, y: number]>): ReadonlyArray<Point> => points.map(([x, y]) => ({ x, y }))

const tidied = (points: ReadonlyArray<Point>, label?: Area): PlacedEdge => tidy({ edge, points, label }, areaOf, [])

describe("129 edges in SVG", () => {
  it("129 have no small jogs", () => {
    expect(tidied(through([50, 40], [50, 100], [52, 100], [52, 200])).points).toEqual(through([50, 40], [50, 200]))
    expect(tidied(through([50, 40], [50, 60], [80, 60], [80, 100], [78, 100], [78, 200])).points).toEqual(
      through([50, 40], [50, 60], [80, 60], [80, 200]),
    )
    expect(tidied(through([50, 40], [51.5, 200])).points).toEqual(through([50, 40], [50, 200]))
  })

  it("129 keep their corners", () => {
    const corners = through([20, 40], [20, 100], [30, 100], [30, 200])
    expect(tidied(corners).points).toEqual(corners)
  })

  it("129 keep their ends at the box and their label on the line", () => {
    // Only the upper part can move: the lower one would end at the box's corner.
    expect(tidied(through([12, 40], [12, 100], [9, 100], [9, 200])).points).toEqual(through([12, 40], [12, 200]))
    const label = { x: 42, y: 140, width: 20, height: 18 }
    const { points, label: moved } = tidied(through([50, 40], [50, 100], [52, 100], [52, 200]), label)
    expect([points, moved]).toEqual([through([52, 40], [52, 200]), label])
  })

  it("129 leave room for the head of a loop", () => {
    const loop = { ...edge, to: edge.from }
    const points = through([0, 17], [-24, 17], [-24, 23], [0, 23])
    expect(tidy({ edge: loop, points, label: undefined }, areaOf, [loop]).points).toEqual(through([0, 10], [-24, 10], [-24, 30], [0, 30]))
    // Two loops would run into each other.
    expect(tidy({ edge: loop, points, label: undefined }, areaOf, [loop, loop]).points).toEqual(points)
  })

  it("129 run straight from border to border", async () => {
    for (const [, machine] of machines) {
      for (const direction of ["down", "right"] as const) {
        const places = await Effect.runPromise(layout(Scene.make(machine), direction))
        const found = new Map([
          ...places.boxes.map(({ box, area }) => [box.key, area] as const),
          ...places.groups.map(({ group, area }) => [group.key, area] as const),
        ])
        for (const { edge, points } of places.edges) {
          const lengths = points.slice(1).map((point, index) => {
            const before = points[index] ?? point
            return [Math.abs(point.x - before.x), Math.abs(point.y - before.y)] as const
          })
          expect(lengths.filter(([x, y]) => x > 0 && y > 0)).toEqual([])
          expect(lengths.slice(1, -1).filter(([x, y]) => x + y < 4)).toEqual([])
          expect(isAtBorder(found.get(edge.from), points[0])).toBe(true)
          expect(isAtBorder(found.get(edge.to), points.at(-1))).toBe(true)
        }
      }
    }
  })
})

const isAtBorder = (area: Area | undefined, point: Point | undefined): boolean => {
  // The markers of start and stop are round.
  if (area === undefined || point === undefined) return true
  const across = point.x >= area.x && point.x <= area.x + area.width
  const down = point.y >= area.y && point.y <= area.y + area.height
  const near = (one: number, other: number) => Math.abs(one - other) < 1
  const side = near(point.x, area.x) || near(point.x, area.x + area.width)
  const end = near(point.y, area.y) || near(point.y, area.y + area.height)
  return (across && end) || (down && side)
}
