/**
 * A machine drawn from the layout that the server computed: states with the number of instances in each, transitions, and the path
 * that an instance took. A state is a link or a button, so that the drawing works with the keyboard too.
 */
import { useId, useLayoutEffect, useRef, useState } from "react"
import type { DiagramLayout } from "../api/types.ts"
import { navigate } from "../browser/Router.tsx"
import { Button } from "./Button.tsx"
import { countText } from "./Moment.tsx"

type Area = NonNullable<DiagramLayout["edges"][number]["labelAt"]>

/** The key of a state in a layout. */
const keyOf = (state: string): string => `state:${state}`

/** The name of the state of a key; a name may contain any character. */
const nameOf = (key: string): string => key.replace(/^state:/, "")

interface DiagramProps {
  readonly layout: DiagramLayout
  readonly label: string
  /** Instances in each state. */
  readonly counts?: Readonly<Record<string, number>>
  /** The states that the instance is in: one, or one of each region of a statechart. */
  readonly here?: ReadonlySet<string>
  /** States and transitions (`from to`) that the instance has been through. */
  readonly visited?: ReadonlySet<string>
  readonly taken?: ReadonlySet<string>
  /** States that an event may lead to now. */
  readonly legal?: ReadonlySet<string>
  readonly hrefOf?: (state: string) => string
  readonly height?: number
}

export const Diagram = ({ layout, label, counts, here, visited, taken, legal, hrefOf, height = 420 }: DiagramProps) => {
  const id = useId()
  const frame = useRef<HTMLElement>(null)
  const [zoom, setZoom] = useState<number>()
  const [room, setRoom] = useState(0)
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null) return undefined
    const observer = new ResizeObserver(([entry]) => setRoom(entry?.contentRect.width ?? 0))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // Scales the drawing to fit its frame, but not below a readable size: then it scrolls.
  const fitting = room === 0 ? 1 : Math.min(1.15, Math.max(0.55, Math.min(room / layout.width, height / layout.height)))
  const scale = zoom ?? fitting
  const standing = layout.states.find(({ state }) => state !== undefined && here?.has(state) === true)
  // Where the drawing is larger than its frame, scrolls to the current state.
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null || standing === undefined || room === 0) return
    element.scrollTop = (standing.y + standing.height / 2) * scale - element.clientHeight / 2
    element.scrollLeft = (standing.x + standing.width / 2) * scale - element.clientWidth / 2
  }, [standing, scale, room])
  const hereKeys = new Set([...(here ?? [])].map(keyOf))
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
      <section ref={frame} aria-label={label} tabIndex={0} className="overflow-auto" style={{ maxHeight: height + 8 }}>
        <svg
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          width={layout.width * scale}
          height={layout.height * scale}
          className="mx-auto block select-none"
          fontFamily="inherit"
        >
          <title>{label}</title>
          <defs>
            {(["edge", "accent"] as const).map((colour) => (
              <marker
                key={colour}
                id={`${id}${colour}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="7"
                markerHeight="7"
                orient="auto-start-reverse"
              >
                <path d="M0 0.5 7.5 4 0 7.5z" className={colour === "edge" ? "fill-muted" : "fill-accent"} />
              </marker>
            ))}
          </defs>
          {layout.groups.map((group) => (
            <g key={group.key}>
              <rect x={group.x} y={group.y} width={group.width} height={group.height} rx="10" className="fill-sunken stroke-line" />
              <text x={group.x + 12} y={group.y + 20} className="fill-muted text-[12px] font-semibold">
                {group.name}
              </text>
            </g>
          ))}
          {layout.start === undefined ? null : (
            <circle
              cx={layout.start.x + layout.start.width / 2}
              cy={layout.start.y + layout.start.height / 2}
              r={layout.start.width / 2}
              className="fill-ink"
            />
          )}
          {layout.edges.map((edge, index) => {
            const isTaken = taken?.has(`${nameOf(edge.from)} ${nameOf(edge.to)}`) === true
            const isLegal = hereKeys.has(edge.from)
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: two transitions may have the same ends and the same label.
              <g key={index}>
                <polyline
                  points={edge.points.map(({ x, y }) => `${x},${y}`).join(" ")}
                  fill="none"
                  strokeWidth={isTaken ? 2.25 : 1.25}
                  strokeDasharray={isLegal && !isTaken ? "5 4" : undefined}
                  className={isTaken ? "stroke-accent" : "stroke-muted"}
                  markerEnd={`url(#${id}${isTaken ? "accent" : "edge"})`}
                />
                {edge.labelAt === undefined ? null : <EdgeLabel lines={edge.label} area={edge.labelAt} strong={isTaken} />}
              </g>
            )
          })}
          {layout.stops.map(({ key, x, y, width, reason }) => (
            <g key={key}>
              <circle cx={x + width / 2} cy={y + width / 2} r={width / 2 - 1} className="fill-surface stroke-muted" />
              <path d={`M${x + 7} ${y + 7}l8 8m0-8l-8 8`} className="stroke-muted" />
              <text x={x + width / 2} y={y + width + 13} textAnchor="middle" className="fill-muted text-[11px]">
                {reason}
              </text>
            </g>
          ))}
          {layout.states.map((state) => (
            <StateBox
              key={state.key}
              state={state}
              count={state.state === undefined ? undefined : counts?.[state.state]}
              isHere={hereKeys.has(state.key)}
              isVisited={state.state !== undefined && visited?.has(state.state) === true}
              isLegal={state.state !== undefined && legal?.has(state.state) === true}
              href={state.state === undefined ? undefined : hrefOf?.(state.state)}
            />
          ))}
        </svg>
      </section>
      <div className="flex justify-end gap-1">
        <Button look="quiet" aria-label="Make the drawing smaller" onClick={() => setZoom(Math.max(0.25, scale / 1.25))}>
          −
        </Button>
        <Button look="quiet" aria-label="Make the drawing larger" onClick={() => setZoom(Math.min(3, scale * 1.25))}>
          +
        </Button>
        {zoom === undefined ? null : (
          <Button look="quiet" onClick={() => setZoom(undefined)}>
            Fit
          </Button>
        )}
      </div>
    </div>
  )
}

const EdgeLabel = ({ lines, area, strong }: { readonly lines: ReadonlyArray<string>; readonly area: Area; readonly strong: boolean }) => (
  <g>
    <rect x={area.x} y={area.y} width={area.width} height={area.height} rx="3" className="fill-surface" fillOpacity="0.85" />
    {lines.map((line, index) => (
      <text
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a label have no other name.
        key={index}
        x={area.x + area.width / 2}
        y={area.y + 12 + index * 14}
        textAnchor="middle"
        className={`text-[11px] ${strong ? "fill-accent font-semibold" : "fill-muted"}`}
      >
        {line}
      </text>
    ))}
  </g>
)

interface StateBoxProps {
  readonly state: DiagramLayout["states"][number]
  readonly count: number | undefined
  readonly isHere: boolean
  readonly isVisited: boolean
  readonly isLegal: boolean
  readonly href: string | undefined
}

const StateBox = ({ state, count, isHere, isVisited, isLegal, href }: StateBoxProps) => {
  const { x, y, width, height, name } = state
  const look = isHere
    ? "fill-accent stroke-accent"
    : isVisited
      ? "fill-accent-soft stroke-accent"
      : (count ?? 0) > 0
        ? "fill-surface stroke-accent"
        : isLegal
          ? "fill-surface stroke-accent [stroke-dasharray:5_4]"
          : "fill-surface stroke-edge"
  const box = (
    <g className={href === undefined ? "" : "cursor-pointer [&:hover>rect]:stroke-accent"} data-state={state.state ?? name}>
      <rect x={x} y={y} width={width} height={height} rx="8" strokeWidth={isHere ? 2 : 1.4} className={look} />
      {state.final ? (
        <rect
          x={x + 3.5}
          y={y + 3.5}
          width={width - 7}
          height={height - 7}
          rx="5.5"
          fill="none"
          className={isHere ? "stroke-on-accent" : state.failure ? "stroke-bad" : "stroke-edge"}
        />
      ) : null}
      <text
        x={x + width / 2}
        y={y + (state.lines.length === 0 ? height / 2 + 4.5 : 20)}
        textAnchor="middle"
        className={`text-[13px] font-semibold ${isHere ? "fill-on-accent" : "fill-ink"}`}
      >
        {name}
      </text>
      <StateLines lines={state.lines} x={x} y={y} width={width} isHere={isHere} />
      {count === undefined || count === 0 ? null : <Count count={count} x={x + width} y={y} />}
      {isHere ? <title>{`${name}: here`}</title> : null}
    </g>
  )
  if (href === undefined) return box
  return (
    <a
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return
        event.preventDefault()
        navigate(href)
      }}
    >
      {box}
    </a>
  )
}

/** The lines below the name of a state, in the compartments and with the sizes of the layout. */
const StateLines = ({
  lines,
  x,
  y,
  width,
  isHere,
}: {
  readonly lines: DiagramLayout["states"][number]["lines"]
  readonly x: number
  readonly y: number
  readonly width: number
  readonly isHere: boolean
}) => {
  let top = y + titleHeight
  return lines.map((part, index) => {
    const start = top
    top += part.length * lineHeight + 2 * gap
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: compartments have no other name.
      <g key={index}>
        <path d={`M${x} ${start}h${width}`} className={isHere ? "stroke-on-accent/40" : "stroke-line"} />
        {part.map((line, at) => (
          <text
            // biome-ignore lint/suspicious/noArrayIndexKey: two lines may say the same.
            key={at}
            x={x + 12}
            y={start + gap + 12 + at * lineHeight}
            className={`text-[11px] ${isHere ? "fill-on-accent" : "fill-muted"}`}
          >
            {line.text}
          </text>
        ))}
      </g>
    )
  })
}

/** The sizes that the server uses for the layout. */
const titleHeight = 32
const lineHeight = 17
const gap = 6

/** How many instances are in a state, on the corner of its box. */
const Count = ({ count, x, y }: { readonly count: number; readonly x: number; readonly y: number }) => {
  const text = count < 10_000 ? countText(count) : `${Math.round(count / 1000)}k`
  const width = 10 + text.length * 7
  return (
    <>
      <rect x={x - width + 6} y={y - 9} width={width} height="18" rx="9" className="fill-accent" />
      <text x={x - width / 2 + 6} y={y + 4} textAnchor="middle" className="fill-on-accent text-[11px] font-bold">
        {text}
      </text>
    </>
  )
}
