/**
 * A table of any length: only the rows in view are in the document. A row is a link; `j` and `k` move between rows, `Enter` opens
 * one, `x` selects one.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react"
import { keepScrollPlace, Link, scrollPlace } from "../browser/Router.tsx"
import { useKeys } from "../browser/useKeys.ts"

export interface Column<Row> {
  readonly title: string
  /** A track of a CSS grid, such as `minmax(10rem,2fr)`. */
  readonly width: string
  readonly cell: (row: Row) => ReactNode
  /** Left out below 640 px. */
  readonly wideOnly?: boolean
  readonly right?: boolean
}

interface VirtualTableProps<Row> {
  readonly label: string
  readonly rows: ReadonlyArray<Row>
  readonly columns: ReadonlyArray<Column<Row>>
  readonly keyOf: (row: Row) => string
  /** The address of a row's page, and the name of the row for the label of its checkbox. */
  readonly hrefOf?: (row: Row) => string
  readonly nameOf?: (row: Row) => string
  readonly isCurrent?: (row: Row) => boolean
  readonly picked?: ReadonlySet<string>
  readonly onPick?: (key: string) => void
  readonly onPickAll?: () => void
  /** Called when the last rows come into view. */
  readonly onEnd?: () => void
  readonly rowHeight?: number
  readonly height?: string
}

export const VirtualTable = <Row,>(props: VirtualTableProps<Row>) => {
  const { label, rows, columns, keyOf, hrefOf, nameOf, isCurrent, picked, onPick, onPickAll, onEnd, rowHeight = 40 } = props
  const { height = "62dvh" } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState(-1)
  const isWide = useIsWide()
  const shown = useMemo(() => columns.filter(({ wideOnly }) => isWide || wideOnly !== true), [columns, isWide])
  // A new function would make the virtualizer measure every row again.
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
    [rows, keyOf],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey,
    // Back in the browser returns to the rows that were in view.
    initialOffset: () => scrollPlace(label),
  })
  const items = virtual.getVirtualItems()
  const lastShown = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (rows.length > 0 && lastShown >= rows.length - 10) onEnd?.()
  }, [lastShown, rows.length, onEnd])

  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, focused + by))
    setFocused(next)
    virtual.scrollToIndex(next)
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] a, [data-index="${next}"] button`)?.focus(),
    )
  }
  const focusedRow = rows[focused]
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ...(onPick === undefined || focusedRow === undefined ? {} : { x: () => onPick(keyOf(focusedRow)) }),
  })

  const template = `${onPick === undefined ? "" : "2.25rem "}${shown.map(({ width }) => width).join(" ")}`
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are placed by position, which a table element does not allow.
    <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className="min-w-0">
      {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: a header row has nothing to do. */}
      <div role="row" className="grid items-center gap-3 border-b border-line px-4 py-1.5 label" style={{ gridTemplateColumns: template }}>
        {onPick === undefined ? null : (
          // biome-ignore lint/a11y/useSemanticElements: see above.
          // biome-ignore lint/a11y/useFocusableInteractive: a header has nothing to do.
          <span role="columnheader">
            {onPickAll === undefined ? (
              <span className="sr-only">Select</span>
            ) : (
              <input
                type="checkbox"
                className="block size-4 accent-accent"
                aria-label={`Select all ${rows.length} rows that are shown`}
                ref={(box) => {
                  if (box !== null) box.indeterminate = (picked?.size ?? 0) > 0 && (picked?.size ?? 0) < rows.length
                }}
                checked={rows.length > 0 && picked?.size === rows.length}
                onChange={onPickAll}
              />
            )}
          </span>
        )}
        {shown.map(({ title, right }) => (
          // biome-ignore lint/a11y/useSemanticElements: see above.
          // biome-ignore lint/a11y/useFocusableInteractive: a header has nothing to do.
          <span key={title} role="columnheader" className={right === true ? "text-right" : ""}>
            {title}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: see above. */}
      <div
        ref={scroller}
        role="rowgroup"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls.
        tabIndex={0}
        className="overflow-auto"
        style={{ maxHeight: height }}
        onScroll={({ currentTarget }) => keepScrollPlace(label, currentTarget.scrollTop)}
      >
        <div className="relative" role="presentation" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <TableRow
                key={key}
                row={row}
                rowKey={keyOf(row)}
                index={index}
                start={start}
                height={rowHeight}
                template={template}
                columns={shown}
                hrefOf={hrefOf}
                nameOf={nameOf}
                isCurrent={isCurrent?.(row) === true}
                isPicked={picked?.has(keyOf(row)) === true}
                onPick={onPick}
                onFocus={setFocused}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

interface TableRowProps<Row> {
  readonly row: Row
  readonly hrefOf: ((row: Row) => string) | undefined
  readonly nameOf: ((row: Row) => string) | undefined
  readonly onPick: ((key: string) => void) | undefined
  readonly rowKey: string
  readonly index: number
  /** Its distance from the first row, in pixels. */
  readonly start: number
  readonly height: number
  readonly template: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly isCurrent: boolean
  readonly isPicked: boolean
  readonly onFocus: (index: number) => void
}

const PlainRow = <Row,>(props: TableRowProps<Row>) => {
  const { row, rowKey, index, start, height, template, columns, hrefOf, nameOf, isCurrent, isPicked, onPick, onFocus } = props
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above.
    // biome-ignore lint/a11y/useFocusableInteractive: the link in the row has the focus.
    <div
      role="row"
      data-index={index}
      aria-rowindex={index + 2}
      className={`absolute inset-x-0 grid items-center gap-3 border-b border-line px-4 [contain:layout_style] hover:bg-hover focus-within:bg-hover ${isCurrent ? "bg-accent-soft" : ""}`}
      style={{ gridTemplateColumns: template, height, transform: `translateY(${start}px)` }}
    >
      {onPick === undefined ? null : (
        // biome-ignore lint/a11y/useSemanticElements: see above.
        <span role="cell" className="relative z-10 flex">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            aria-label={`Select ${nameOf?.(row) ?? rowKey}`}
            checked={isPicked}
            onChange={() => onPick(rowKey)}
          />
        </span>
      )}
      {columns.map(({ title, cell, right }, at) => (
        // biome-ignore lint/a11y/useSemanticElements: see above.
        <div key={title} role="cell" className={`min-w-0 truncate ${right === true ? "text-right tabular-nums" : ""}`}>
          {at === 0 && hrefOf !== undefined ? (
            <Link
              href={hrefOf(row)}
              aria-current={isCurrent ? "true" : undefined}
              className="font-medium text-ink after:absolute after:inset-0"
              onFocus={() => onFocus(index)}
            >
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </div>
      ))}
    </div>
  )
}

/** With `memo`, scrolling renders only the rows that come into view. */
const TableRow = memo(PlainRow) as typeof PlainRow

const wide = matchMedia("(min-width: 640px)")

/** Whether columns that are `wideOnly` are shown. */
export const useIsWide = (): boolean => {
  const [isWide, setIsWide] = useState(wide.matches)
  useEffect(() => {
    const onChange = () => setIsWide(wide.matches)
    wide.addEventListener("change", onChange)
    return () => wide.removeEventListener("change", onChange)
  }, [])
  return isWide
}
