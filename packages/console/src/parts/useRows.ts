/**
 * The rows of a paged list, newest first, that is open while the data changes. Known rows are updated in place; new rows are counted
 * and shown when the user asks for them, so that no row moves under the pointer.
 */
import { useCallback, useMemo } from "react"
import type { Read } from "../api/Client.ts"
import { useRead, useReadPages } from "../live/useRead.ts"

interface Options<Page, Row> {
  readonly address: (after?: string | number) => Read<Page>
  readonly rowsOf: (page: Page) => ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
}

export const useRows = <Row, Page extends { readonly next?: string | number }>({ address, rowsOf, keyOf }: Options<Page, Row>) => {
  const pages = useReadPages(address)
  // A second read of the first page, which hints repeat; `pages` stay as they were shown.
  const head = useRead({ path: `${address().path}` } as Read<Page>)
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = pages
  const rows = useMemo(() => {
    const renewed = new Map((head.data === undefined ? [] : rowsOf(head.data)).map((row) => [keyOf(row), row]))
    const seen = new Set<string>()
    return (data?.pages ?? []).flatMap(rowsOf).flatMap((row) => {
      const key = keyOf(row)
      // A row that changed between the reads of two pages is on both.
      if (seen.has(key)) return []
      seen.add(key)
      return [renewed.get(key) ?? row]
    })
  }, [data, head.data, rowsOf, keyOf])
  const fresh = useMemo(() => {
    if (head.data === undefined || data === undefined) return 0
    const known = new Set(data.pages.flatMap(rowsOf).map(keyOf))
    return rowsOf(head.data).filter((row) => !known.has(keyOf(row))).length
  }, [data, head.data, rowsOf, keyOf])
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  return { rows, fresh, pages, onEnd, showFresh: () => void refetch() }
}
