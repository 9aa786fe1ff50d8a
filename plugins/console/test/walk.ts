// Visits all pages that links and tabs lead to, so new pages are included automatically.
import type { Page } from 'playwright-core'

const maxViews = 60

/** Replaces ids, as in '/clients/ID', so that one page of each kind is visited. */
export const kindOf = (path: string): string =>
  path.replace(/[?#].*$/, '').replace(/^\/([a-z]+)\/(?!new$)[^/]+/, '/$1/ID')

export interface View {
  readonly name: string // 'clients-id', for a file
  readonly title: string
}

/** The part of a DOM element in use; Node has no types for it. */
interface Linked {
  getAttribute(name: string): string | null
}

/** Calls `visit` for each kind of page that links lead to, and for each of its tabs. */
export async function walk(
  page: Page,
  origin: string,
  visit: (view: View) => Promise<void>
): Promise<string[]> {
  await page.goto(`${origin}/`)
  const links = (): Promise<string[]> =>
    page
      .locator('nav a[href^="/"], main a[href^="/"]')
      .evaluateAll(all => all.map(link => (link as unknown as Linked).getAttribute('href') ?? ''))
  await settled(page)
  const waiting = await links()
  const seen = new Set<string>()
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const kind = kindOf(path)
    if (seen.has(kind) || seen.size >= maxViews) continue
    seen.add(kind)
    await page.goto(origin + path)
    await settled(page)
    const name = kind === '/' ? 'overview' : kind.slice(1).replaceAll('/', '-').toLowerCase()
    await visit({ name, title: kind })
    const tabs = page.getByRole('main').getByRole('tab', { selected: false })
    const titles = await tabs.allTextContents()
    for (const title of titles) {
      await page.getByRole('main').getByRole('tab', { name: title, exact: true }).click()
      await settled(page)
      await visit({
        name: `${name}-${title.toLowerCase().replaceAll(/\W+/g, '-')}`,
        title: `${kind}, ${title}`
      })
    }
    waiting.push(...(await links()))
  }
  return [...seen]
}

/** Resolves when the page has loaded its data. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor()
  await page
    .locator('main [aria-busy=true], header [aria-hidden=true]:disabled')
    .first()
    .waitFor({ state: 'detached' })
}

/** Returns the boxes of the page that are wider than what is visible of them, once a resize has been rendered. */
export const scrolledSideways = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const { document, getComputedStyle, requestAnimationFrame: next } = globalThis as unknown as Dom
    const find = (): string[] => {
      const boxes = [...document.querySelectorAll('main *')].filter(
        box => box.tagName !== 'TEXTAREA' && /auto|scroll/.test(getComputedStyle(box).overflowX)
      )
      return [document.documentElement, ...boxes]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
        .map(({ tagName, className }) => `${tagName} ${className}`)
    }
    for (let frame = 0; frame < 60 && find().length > 0; frame++)
      await new Promise<void>(resolve => next(() => resolve()))
    return find()
  })

/** The part of the DOM in use; Node has no types for it. */
interface Box {
  readonly tagName: string
  readonly className: string
  readonly scrollWidth: number
  readonly clientWidth: number
}
interface Dom {
  readonly document: { readonly documentElement: Box; querySelectorAll(selector: string): Iterable<Box> }
  getComputedStyle(box: Box): { readonly overflowX: string }
  requestAnimationFrame(work: () => void): void
}
