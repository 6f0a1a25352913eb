/** A dialog of the browser: it keeps the focus inside, closes with Escape, and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"

const widths = { narrow: "max-w-lg", wide: "max-w-3xl", full: "max-w-[96rem]" } as const

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Default: `narrow`. */
  readonly width?: keyof typeof widths
  /** Stays in view below the content, which scrolls. */
  readonly footer?: ReactNode
  /** What closing would lose, as a sentence. The user then confirms first. */
  readonly unsaved?: string | undefined
}

export const Modal = ({ title, onClose, children, width = "narrow", footer, unsaved }: ModalProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [isAsking, setIsAsking] = useState(false)
  const close = () => (unsaved === undefined ? onClose() : setIsAsking(true))
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  useEffect(() => {
    if (unsaved === undefined) setIsAsking(false)
  }, [unsaved])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={`card max-h-[86dvh] w-[calc(100vw-1.5rem)] flex-col overflow-hidden p-0 shadow-float open:flex ${widths[width]}`}
      onClose={onClose}
      onKeyDown={(event) => {
        // A browser closes a dialog at the second Escape, even where the first was prevented as a `cancel`.
        if (event.key !== "Escape" || unsaved === undefined) return
        event.preventDefault()
        setIsAsking(true)
      }}
      onCancel={(event) => {
        if (event.target !== dialog.current || unsaved === undefined) return
        event.preventDefault()
        setIsAsking(true)
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close()
      }}
    >
      <div className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5">
        <h2 id={id} className="min-w-0 truncate text-lg font-semibold">
          {title}
        </h2>
        <button type="button" aria-label="Close" className="rounded p-1 text-muted hover:bg-hover hover:text-ink" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div className="min-h-0 flex-1 overflow-auto p-4">{children}</div>
      {footer === undefined ? null : <div className="border-t border-line px-4 py-2.5">{footer}</div>}
      {isAsking && unsaved !== undefined ? (
        <div role="alert" className="flex flex-wrap items-center justify-end gap-3 border-t border-line bg-warn-soft px-4 py-2.5">
          <p className="mr-auto">{unsaved}</p>
          <Button onClick={() => setIsAsking(false)}>Keep editing</Button>
          <Button look="danger" onClick={onClose}>
            Discard
          </Button>
        </div>
      ) : null}
    </dialog>
  )
}
