// Asks the user to confirm who they are when a request needs a fresh session. Concurrent requests share one question.
import { useSyncExternalStore } from 'react'

let question: PromiseWithResolvers<boolean> | null = null
const listeners = new Set<() => void>()

function set(next: typeof question): void {
  question = next
  for (const listener of listeners) listener()
}

/** Opens the dialog. Resolves to false if the user cancels. */
export function askConfirmation(): Promise<boolean> {
  if (!question) set(Promise.withResolvers<boolean>())
  return question?.promise ?? Promise.resolve(false)
}

export function answerConfirmation(isConfirmed: boolean): void {
  question?.resolve(isConfirmed)
  set(null)
}

/** True while the dialog is open. */
export const useConfirmation = (): boolean =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => question !== null
  )
