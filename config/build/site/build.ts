// Builds the documentation site, dist/site: static files that a browser shows without a server or network.
//
//   documents.ts   the Markdown of the repository         reference.ts   pages from schemas, manifests and metrics
//   links.ts       links between documents, and their check    search.ts      the search index
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Eleventy from '@11ty/eleventy'
import anchors from 'markdown-it-anchor'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { documents } from './documents.ts'
import { deadLinks, linked } from './links.ts'
import { type Page, picture, root, rootOf } from './page.ts'
import { referencePages } from './reference.ts'
import { searchData } from './search.ts'
import { slug, withRowAnchors } from './slug.ts'

const theme = join(import.meta.dirname, 'theme')

/** Returns the paths of the pages. Throws for a dead link. */
export async function buildSite(dir: string): Promise<readonly string[]> {
  const pages: readonly Page[] = [...(await documents()), ...(await referencePages())]
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const rendered = await render(pages, dir)
  const dead = deadLinks(rendered)
  if (dead.length > 0) throw new TypeError(`dead links:\n${dead.join('\n')}`)
  writeFileSync(join(dir, 'search-data.js'), searchData(pages, rendered))
  for (const file of ['style.css', 'search.js']) copyFileSync(join(theme, file), join(dir, file))
  mkdirSync(join(dir, dirname(picture)), { recursive: true })
  copyFileSync(join(root, picture), join(dir, picture))
  copyFileSync(join(root, 'node_modules/minisearch/dist/umd/index.js'), join(dir, 'minisearch.js'))
  return pages.map(({ path }) => path)
}

/** Returns the HTML of each page by its path. */
async function render(pages: readonly Page[], dir: string): Promise<ReadonlyMap<string, string>> {
  const groups = [...Map.groupBy(pages, ({ group }) => group)].map(([title, pages]) => ({ title, pages }))
  const site = new Eleventy(theme, dir, {
    quietMode: true,
    config(options) {
      options.setUseGitIgnore(false)
      options.amendLibrary('md', library =>
        library.set({ html: true }).enable('code').use(anchors, { slugify: slug, tabIndex: false })
      )
      for (const page of pages) {
        const { path, title } = page
        const data = {
          title,
          layout: 'page.liquid',
          permalink: path,
          root: rootOf(path),
          version: ownVersion()
        }
        options.addTemplate(`${path}.md`, linked(page, pages), { ...data, groups, current: path })
      }
      options.addTransform('rows', (html: string, path: string) => {
        const page = pages.find(page => path.endsWith(`/${page.path}`))
        return page?.hasRows ? withRowAnchors(html) : html
      })
      return { markdownTemplateEngine: false, htmlTemplateEngine: false }
    }
  })
  await site.write()
  return new Map(pages.map(({ path }) => [path, readFileSync(join(dir, path), 'utf8')]))
}

if (import.meta.main) {
  const dir = join(root, 'dist', 'site')
  const paths = await buildSite(dir)
  process.stdout.write(`${paths.length} pages in ${dir}\n`)
}
