// Rewrites links between documents, and checks all links of the site.
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type Page, picture, root, rootOf } from './page.ts'
import { slug } from './slug.ts'

/** Returns the text of a page with its links as on the site. A link to a file without a page becomes plain text. */
export function linked({ path, source, text }: Page, pages: readonly Page[]): string {
  if (source === null) return text
  return text.replaceAll(
    /(?<!!)\[([^\]\n]+)\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g,
    (link, words, target, part = '') => {
      if (target === '') return `[${words}](${fragment(part)})`
      const file = normalize(join(dirname(source), target)).replace(/\/$/, '')
      const page = pages.find(page => page.source === file || page.source === `${file}/README.md`)
      if (page) return `[${words}](${rootOf(path)}${page.path}${fragment(part)})`
      if (!existsSync(join(root, file)))
        throw new TypeError(`${source}: the file of the link ${link} does not exist`)
      return words
    }
  )
}

/** Anchors for codes keep their dots. */
const fragment = (part: string): string => (part === '' ? '' : `#${slug(part.slice(1))}`)

/** Returns 'page: link' for each link to a page, a file or an anchor that does not exist. */
export function deadLinks(pages: ReadonlyMap<string, string>): readonly string[] {
  const ids = new Map([...pages].map(([path, html]) => [path, new Set(idsIn(html))]))
  const files = new Set(['style.css', 'search.js', 'search-data.js', 'minisearch.js', picture])
  return [...pages].flatMap(([path, html]) =>
    [...html.matchAll(/ (?:href|src)="(?!https?:|mailto:|data:)([^"#]*)(?:#([^"]*))?"/g)].flatMap(
      ([, target = '', part]) => {
        const to = target === '' ? path : normalize(join(dirname(path), target))
        const found = ids.get(to)
        const isGood = found ? part === undefined || found.has(decodeURIComponent(part)) : files.has(to)
        return isGood ? [] : [`${path}: ${target}${part === undefined ? '' : `#${part}`}`]
      }
    )
  )
}

const idsIn = (html: string): string[] => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)
