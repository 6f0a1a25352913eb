/** Short messages at the edge of the page: the result of an action, with a link to it. */
import { createContext, type ReactNode, use, useCallback, useRef, useState } from "react"
import { Link } from "../browser/Router.tsx"
import { Icon } from "./Icon.tsx"

export interface Toast {
  readonly text: string
  readonly tone?: "good" | "bad"
  readonly href?: string
  readonly linkText?: string
}

const shownMillis = 6000
const most = 4

const Toasting = createContext<(toast: Toast) => void>(() => {})

export const useToast = () => use(Toasting)

export const ToastProvider = ({ children }: { readonly children: ReactNode }) => {
  const [toasts, setToasts] = useState<ReadonlyArray<Toast & { readonly number: number }>>([])
  const last = useRef(0)
  const remove = useCallback((number: number) => setToasts((all) => all.filter((one) => one.number !== number)), [])
  const add = useCallback(
    (toast: Toast) => {
      const number = ++last.current
      setToasts((all) => [...all, { ...toast, number }].slice(-most))
      // A problem stays until the user closes it.
      if (toast.tone !== "bad") setTimeout(() => remove(number), shownMillis)
    },
    [remove],
  )
  return (
    <Toasting value={add}>
      {children}
      <div
        role="status"
        aria-live="polite"
        className="pointer-events-none fixed right-4 bottom-4 z-50 grid w-[min(26rem,calc(100vw-2rem))] gap-2"
      >
        {toasts.map(({ number, text, tone = "good", href, linkText }) => (
          <div key={number} className="card pointer-events-auto flex items-start gap-2.5 px-3 py-2.5 shadow-float">
            <Icon name={tone === "good" ? "check" : "alert"} className={`mt-0.5 ${tone === "good" ? "text-good" : "text-bad"}`} />
            <p className="min-w-0 flex-1 break-words">
              {text}{" "}
              {href === undefined ? null : (
                <Link href={href} className="font-medium text-accent underline" onClick={() => remove(number)}>
                  {linkText ?? "Open"}
                </Link>
              )}
            </p>
            <button
              type="button"
              aria-label="Close the message"
              className="rounded p-0.5 text-muted hover:text-ink"
              onClick={() => remove(number)}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </Toasting>
  )
}
