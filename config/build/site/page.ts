import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..', '..')

export interface Page {
  readonly path: string // on the site: 'plugins/rules.html'
  readonly title: string
  readonly group: string // in the navigation
  readonly text: string // Markdown
  readonly source: string | null // a repository file, the base of relative links in the text
  readonly hasRows: boolean // table rows have anchors, and the search finds them
}

/** Returns the relative path from a page to the root of the site: '../', or ''. */
export const rootOf = (path: string): string => '../'.repeat(path.split('/').length - 1)

/** The picture in README.md, which the site shows at the same path. */
export const picture = 'docs/console.png'
