import { useEffect, useRef } from 'react'

/** Calls the work of a key: 'mod+k', or a sign such as '?', which while somebody types is text. */
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

/** Puts the keyboard into the search of the page, if it has one. */
export const focusSearch = (): void => document.querySelector<HTMLElement>('main input[type=search]')?.focus()
