import { useEffect, useRef } from 'react'

/** Binds keys: 'mod+k', or a character such as '?', which is ignored in text fields. */
export function useKeys(work: Readonly<Record<string, () => void>>): void {
  const now = useRef(work)
  now.current = work
  useEffect(() => {
    const take = (event: KeyboardEvent): void => {
      const isText =
        event.target instanceof HTMLElement &&
        event.target.matches('input, textarea, select, [contenteditable]')
      const hasMod = event.ctrlKey || event.metaKey
      if (event.altKey || event.isComposing || (isText && !hasMod)) return
      const found = now.current[(hasMod ? 'mod+' : '') + event.key.toLowerCase()]
      if (found === undefined) return
      event.preventDefault()
      found()
    }
    addEventListener('keydown', take)
    return () => removeEventListener('keydown', take)
  }, [])
}

/** Focuses the search field of the page, if there is one. */
export const focusSearch = (): void => document.querySelector<HTMLElement>('main input[type=search]')?.focus()
