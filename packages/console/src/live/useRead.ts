/** Server reads in components: cached by address, repeated on hints of the live stream, or every few seconds without a stream. */
import { keepPreviousData, type UseQueryResult, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { fetchJson, type Read } from "../api/Client.ts"
import { useLiveMode } from "./LiveContext.tsx"

/** How often visible data is read again while there is no live stream. */
const withoutStream = 3000

interface ReadOptions {
  /** The data does not change while the server runs, such as a past state: hints do not repeat the read. */
  readonly fixed?: boolean
  /** Also read at this interval, in milliseconds. */
  readonly every?: number
  /** Shows the previous address's answer until the new one arrives: for an address whose answer includes the previous one. */
  readonly keep?: boolean
}

/** Without an address nothing is read. */
export const useRead = <A>(read: Read<A> | undefined, options: ReadOptions = {}): UseQueryResult<A, Error> => {
  const mode = useLiveMode()
  return useQuery<A, Error>({
    queryKey: [read?.path ?? ""],
    queryFn: ({ signal }) => fetchJson(read ?? { path: "" }, signal),
    enabled: read !== undefined,
    ...(options.keep === true ? { placeholderData: keepPreviousData } : {}),
    staleTime: options.fixed === true ? Number.POSITIVE_INFINITY : 0,
    meta: { isFixed: options.fixed === true },
    refetchInterval: options.fixed === true ? false : (options.every ?? (mode === "live" ? false : withoutStream)),
  })
}

/** A list that is read page by page; `address` names the page after a cursor. */
export const useReadPages = <A extends { readonly next?: string | number }>(address: (after?: string | number) => Read<A>) => {
  const client = useQueryClient()
  const first = address()
  return useInfiniteQuery<A, Error, { readonly pages: ReadonlyArray<A> }, ReadonlyArray<string>, string | number | undefined>({
    queryKey: ["pages", first.path],
    // The first page is also read by itself, to find new rows: one request serves both.
    queryFn: ({ pageParam, signal }) =>
      pageParam === undefined
        ? client.fetchQuery<A, Error>({ queryKey: [first.path], queryFn: () => fetchJson(first) })
        : fetchJson(address(pageParam), signal),
    initialPageParam: undefined,
    getNextPageParam: ({ next }) => next,
    // Rows never move under the pointer: pages are read again on demand.
    staleTime: Number.POSITIVE_INFINITY,
    // Back in the browser finds the pages again, and the place in them.
    gcTime: 10 * 60_000,
  })
}
