/**
 * A small graph with a force-directed layout: nodes repel each other, edges attract. At most 300 nodes, so that the layout is
 * computed in one step before drawing: nothing moves while the user reads.
 */
import { useMemo } from "react"

export interface GraphNode {
  readonly id: string
  readonly label: string
  /** The number of its relations that are not drawn. */
  readonly hidden?: number
}

export interface GraphEdge {
  readonly from: string
  readonly to: string
  readonly label: string
}

export const mostNodes = 300

/** The proportions of the panel. */
const width = 600
const height = 520
const rounds = 160

interface Placed extends GraphNode {
  x: number
  y: number
}

const layoutOf = (nodes: ReadonlyArray<GraphNode>, edges: ReadonlyArray<GraphEdge>, centre: string): ReadonlyArray<Placed> => {
  // Starts from a spiral, without randomness: the same graph is drawn the same way each time.
  const placed = nodes.slice(0, mostNodes).map((node, index): Placed => {
    const angle = index * 2.399963
    const radius = node.id === centre ? 0 : 40 + 22 * Math.sqrt(index)
    return { ...node, x: radius * Math.cos(angle), y: radius * Math.sin(angle) }
  })
  const byId = new Map(placed.map((node) => [node.id, node]))
  const indexOf = new Map(placed.map((node, index) => [node.id, index]))
  const ideal = Math.min(150, 460 / Math.sqrt(placed.length + 1) + 40)
  for (let round = 0; round < rounds; round++) {
    const heat = (1 - round / rounds) * 24
    const moves = placed.map(() => ({ x: 0, y: 0 }))
    for (let one = 0; one < placed.length; one++)
      for (let other = one + 1; other < placed.length; other++) {
        const a = placed[one] as Placed
        const b = placed[other] as Placed
        const dx = a.x - b.x
        const dy = a.y - b.y
        const distance = Math.max(8, Math.hypot(dx, dy))
        const push = (ideal * ideal) / (distance * distance)
        const move = moves[one] as { x: number; y: number }
        const back = moves[other] as { x: number; y: number }
        move.x += dx * push
        move.y += dy * push
        back.x -= dx * push
        back.y -= dy * push
      }
    for (const { from, to } of edges) {
      const a = byId.get(from)
      const b = byId.get(to)
      if (a === undefined || b === undefined || a === b) continue
      const dx = a.x - b.x
      const dy = a.y - b.y
      const pull = Math.hypot(dx, dy) / ideal / 2
      const move = moves[indexOf.get(from) ?? 0] as { x: number; y: number }
      const back = moves[indexOf.get(to) ?? 0] as { x: number; y: number }
      move.x -= dx * pull
      move.y -= dy * pull
      back.x += dx * pull
      back.y += dy * pull
    }
    for (const [index, node] of placed.entries()) {
      if (node.id === centre) continue
      const { x, y } = moves[index] as { x: number; y: number }
      const far = Math.max(1, Math.hypot(x, y))
      node.x += (x / far) * Math.min(far, heat)
      node.y += (y / far) * Math.min(far, heat)
    }
  }
  return placed
}

interface GraphProps {
  readonly nodes: ReadonlyArray<GraphNode>
  readonly edges: ReadonlyArray<GraphEdge>
  readonly centre: string
  readonly label: string
  readonly onOpen: (id: string) => void
}

export const Graph = ({ nodes, edges, centre, label, onOpen }: GraphProps) => {
  const placed = useMemo(() => layoutOf(nodes, edges, centre), [nodes, edges, centre])
  const byId = useMemo(() => new Map(placed.map((node) => [node.id, node])), [placed])
  const reach = Math.max(140, ...placed.map(({ x, y }) => Math.max(Math.abs(x) * (height / width), Math.abs(y)))) + 40
  const few = placed.length <= 40
  // Text keeps its size on the screen, however large the drawing is.
  const size = reach / (few ? 15 : 20)
  return (
    // biome-ignore lint/a11y/useSemanticElements: an SVG groups its parts by a role.
    <svg
      viewBox={`${(-reach * width) / height} ${-reach} ${(2 * reach * width) / height} ${2 * reach}`}
      className="block w-full"
      role="group"
      aria-label={label}
    >
      {edges.map(({ from, to, label: name }) => {
        const a = byId.get(from)
        const b = byId.get(to)
        if (a === undefined || b === undefined) return null
        return (
          <g key={`${from} ${name} ${to}`}>
            <path d={`M${a.x} ${a.y}L${b.x} ${b.y}`} className="stroke-edge" strokeWidth={size / 10} />
            {few ? (
              <text x={(a.x + b.x) / 2} y={(a.y + b.y) / 2 - 3} textAnchor="middle" fontSize={size * 0.85} className="fill-muted">
                {name}
              </text>
            ) : null}
          </g>
        )
      })}
      {placed.map(({ id, label: name, hidden = 0, x, y }) => (
        // biome-ignore lint/a11y/useSemanticElements: an SVG has no button element.
        <g
          key={id}
          role="button"
          tabIndex={0}
          aria-label={`Open ${name}${hidden === 0 ? "" : `, ${hidden} relations hidden`}`}
          className="cursor-pointer"
          onClick={() => onOpen(id)}
          onKeyDown={(event) => {
            if (event.key === "Enter" || event.key === " ") onOpen(id)
          }}
        >
          {/* Clicks between the circle and the name count too. */}
          <rect x={x - size * 1.5} y={y - size} width={size * 3} height={size * 3.2} className="fill-transparent" />
          <circle
            cx={x}
            cy={y}
            r={size * (id === centre ? 0.75 : 0.5)}
            className={id === centre ? "fill-accent" : "fill-surface stroke-accent"}
            strokeWidth={size / 7}
          />
          <text
            x={x}
            y={y + size * (id === centre ? 1.9 : 1.6)}
            fontSize={size}
            textAnchor="middle"
            className={`fill-ink ${id === centre ? "font-bold" : ""}`}
          >
            {name.length > 26 ? `${name.slice(0, 25)}…` : name}
          </text>
          {hidden === 0 ? null : (
            <text x={x + size * 0.7} y={y - size * 0.5} fontSize={size * 0.85} className="fill-warn font-semibold">
              +{hidden}
            </text>
          )}
        </g>
      ))}
    </svg>
  )
}
