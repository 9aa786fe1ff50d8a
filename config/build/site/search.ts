// The search index of the site: each section of each page, and each row of a reference.
import type { Page } from './page.ts'

/** An entry of the search: the address in the site, the title, the page, and the text. */
export type Entry = readonly [url: string, title: string, page: string, text: string]

const maxText = 1_500 // characters per entry

/** Returns a script: a browser can load scripts from local files, but not data. */
export function searchData(pages: readonly Page[], html: ReadonlyMap<string, string>): string {
  const entries = pages.flatMap(page => {
    const content = contentOf(html.get(page.path) ?? '')
    return [...sectionsOf(page, content), ...(page.hasRows ? rowsOf(page, content) : [])]
  })
  return `window.searchEntries=${JSON.stringify(entries)}\n`
}

const contentOf = (html: string): string => /<main>(.*)<\/main>/s.exec(html)?.[1] ?? ''

function sectionsOf({ path, title }: Page, content: string): Entry[] {
  return content.split(/(?=<h[1-6] id=")/).map(part => {
    const [heading = '', id, words = ''] = /^<h[1-6] id="([^"]+)"[^>]*>(.*?)<\/h[1-6]>/s.exec(part) ?? []
    const url = id === undefined ? path : `${path}#${id}`
    return [url, textOf(words) || title, title, textOf(part.slice(heading.length)).slice(0, maxText)]
  })
}

const rowsOf = ({ path, title }: Page, content: string): Entry[] =>
  [...content.matchAll(/<tr>\n<td>((?:<a id="[^"]+"><\/a>)+)(.*?)<\/tr>/gs)].flatMap(
    ([, anchors = '', row = '']) =>
      [...anchors.matchAll(/id="([^"]+)"/g)].map(
        ([, id = '']): Entry => [`${path}#${id}`, id, title, textOf(row).slice(0, maxText)]
      )
  )

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(#?\w+);/g, (entity, name: string) => entities[name] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
