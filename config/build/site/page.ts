import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..', '..')

export interface Page {
  readonly path: string // in the site: 'plugins/rules.html'
  readonly title: string
  readonly group: string // of the navigation
  readonly text: string // Markdown
  readonly source: string | null // a file of the repository, to which links in the text are relative
  readonly hasRows: boolean // the rows of its tables have anchors, and are found by the search
}

/** Returns the way from a page to the root of the site: '../', or ''. */
export const rootOf = (path: string): string => '../'.repeat(path.split('/').length - 1)

/** The picture in README.md, which the site shows at the same path. */
export const picture = 'docs/console.png'
