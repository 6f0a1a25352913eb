/** Asks for confirmation of a change that affects many objects or cannot be undone. */
import { type ReactNode, useState } from "react"
import { ActButton, Button } from "./Button.tsx"
import { Modal } from "./Modal.tsx"

interface ConfirmProps {
  readonly title: string
  readonly children?: ReactNode
  readonly action: string
  readonly isDangerous?: boolean
  /** The label of a required field for the reason, which is passed to `onConfirm`. */
  readonly reason?: string
  readonly onConfirm: (reason: string) => void
  readonly onClose: () => void
}

export const Confirm = ({ title, children, action, isDangerous = false, reason, onConfirm, onClose }: ConfirmProps) => {
  const [text, setText] = useState("")
  return (
    <Modal title={title} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          onConfirm(text)
          onClose()
        }}
      >
        {children}
        {reason === undefined ? null : (
          <div className="grid gap-1">
            <label htmlFor="confirm-reason" className="label">
              {reason}
            </label>
            <input id="confirm-reason" className="field" required value={text} onChange={({ target }) => setText(target.value)} />
          </div>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <ActButton type="submit" look={isDangerous ? "danger" : "primary"}>
            {action}
          </ActButton>
        </div>
      </form>
    </Modal>
  )
}
