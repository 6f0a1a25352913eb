/** Draws how many instances went from one end to another. The server has computed the positions. */
import type { MachineReport } from "../api/types.ts"
import { countText } from "./Moment.tsx"

type Layout = NonNullable<MachineReport["picture"]>

export const FlowPicture = ({ layout: { width, height, bars, bands } }: { readonly layout: Layout }) => (
  <div className="overflow-x-auto">
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={bands.map(({ from, to, count }) => `${count} ended as ${from} and would have ended as ${to}`).join("; ")}
    >
      {bands.map(({ from, to, count, path, isChanged }) => (
        <path key={`${from} ${to}`} d={path} className={isChanged ? "fill-warn" : "fill-muted"} fillOpacity={isChanged ? 0.6 : 0.25}>
          <title>{`${from} → ${to}: ${countText(count)}`}</title>
        </path>
      ))}
      {bars.map(({ side, name, count, x, y, width: wide, height: high }) => (
        <g key={`${side} ${name}`}>
          <rect x={x} y={y} width={wide} height={high} className="fill-accent" />
          <text
            x={side === "before" ? x - 8 : x + wide + 8}
            y={y + high / 2 + 4}
            textAnchor={side === "before" ? "end" : "start"}
            className="fill-current text-xs"
          >
            {`${name.length > 30 ? `${name.slice(0, 29)}…` : name}  ${countText(count)}`}
          </text>
        </g>
      ))}
    </svg>
  </div>
)
