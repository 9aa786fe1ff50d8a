// Short messages in the corner of the page.
import { useSyncExternalStore } from 'react'
import type { ApiError } from '../api/api-error.ts'

interface Notice {
  readonly id: number
  readonly what: ApiError | string // an error, or a success message
}

let notices: readonly Notice[] = []
let last = 0
const listeners = new Set<() => void>()

function set(next: readonly Notice[]): void {
  notices = next
  for (const listener of listeners) listener()
}

export function notify(what: Notice['what']): void {
  const id = ++last
  set([...notices.slice(-3), { id, what }])
  if (typeof what === 'string') setTimeout(() => dismiss(id), 5000)
}

export const dismiss = (id: number): void => set(notices.filter(notice => notice.id !== id))

export const useNotices = (): readonly Notice[] =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => notices
  )
