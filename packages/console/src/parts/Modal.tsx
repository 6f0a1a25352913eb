/** A dialog of the browser: it keeps the focus inside, closes with Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from "react"
import { Icon } from "./Icon.tsx"

export const Modal = ({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly wide?: boolean
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog; the click is one on the backdrop.
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={`card max-h-[86dvh] w-[calc(100vw-1.5rem)] overflow-auto p-0 shadow-float ${wide ? "max-w-3xl" : "max-w-lg"}`}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <div className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5">
        <h2 id={id} className="text-lg font-semibold">
          {title}
        </h2>
        <button type="button" aria-label="Close" className="rounded p-1 text-muted hover:bg-hover hover:text-ink" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  )
}
