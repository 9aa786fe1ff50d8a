// Loads the script of a plugin and adds its element to the page. A failure stays inside the element.
import type { ConsoleElement } from '../../../slots.ts'
import type { PluginPart } from './plugin-parts.ts'

/** Throws if the script does not load or the element fails to start. Returns null if the page has changed since. */
export async function placeElement<G extends object>(
  { module, element }: Pick<PluginPart, 'module' | 'element'>,
  given: G,
  host: () => HTMLElement | null
): Promise<(HTMLElement & G & Pick<ConsoleElement, 'refresh'>) | null> {
  await import(/* @vite-ignore */ module)
  if (customElements.get(element) === undefined)
    throw new TypeError(`its module defines no element ${element}`)
  const place = host()
  if (place === null) return null
  const failures = watchErrors()
  const made = Object.assign(document.createElement(element), given)
  place.replaceChildren(made)
  const [failure] = failures.end()
  if (failure !== undefined) throw failure
  return made
}

/** Collects errors of the element: the browser reports them to the window only. */
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
