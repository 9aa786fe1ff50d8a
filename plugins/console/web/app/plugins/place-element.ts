// Loads the module of a plugin, and puts its element into the page. What fails in it breaks nothing else.
import type { ConsoleElement } from '../../../slots.ts'
import type { Part } from './plugin-parts.ts'

type Made = HTMLElement & ConsoleElement
type Given = Pick<ConsoleElement, 'api' | 'context'>

/** Throws if the module cannot be loaded, or the element fails while it is made. */
export async function placeElement(
  { module, element }: Part,
  given: Given,
  host: () => HTMLElement | null
): Promise<Made | null> {
  await import(/* @vite-ignore */ module)
  if (customElements.get(element) === undefined)
    throw new TypeError(`its module defines no element ${element}`)
  const place = host()
  if (place === null) return null // the page has gone on meanwhile
  const failures = watchErrors()
  const made = Object.assign(document.createElement(element), given)
  place.replaceChildren(made)
  const [failure] = failures.end()
  if (failure !== undefined) throw failure
  return made
}

/** The browser tells no caller what a constructor or a callback of an element throws, but the window. */
function watchErrors() {
  const found: unknown[] = []
  const take = (event: ErrorEvent): void => void found.push(event.error ?? new Error(event.message))
  addEventListener('error', take)
  return {
    end(): readonly unknown[] {
      removeEventListener('error', take)
      return found
    }
  }
}
