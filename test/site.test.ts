// The documentation site: has no dead link, and its search finds what operators look for.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { buildSite } from '../config/build/site/build.ts'
import { deadLinks, linked } from '../config/build/site/links.ts'
import type { Page } from '../config/build/site/page.ts'
import { slug, withRowAnchors } from '../config/build/site/slug.ts'

interface Result {
  readonly url: string
  readonly title: string
}

const dir = t.testdir()
const paths = await buildSite(dir)
for (const name of Object.keys(process.env)) if (name.startsWith('ELEVENTY_')) delete process.env[name]
const read = (file: string): string => readFileSync(join(dir, file), 'utf8')

/** Runs the scripts of the page without a browser. */
function openSearch(): (query: string) => readonly Result[] {
  const scripts = ['minisearch.js', 'search-data.js', 'search.js'].map(read).join(';\n')
  return runInNewContext(`${scripts}; makeSearch(window.searchEntries)`, { window: {} })
}

t.test('every document of the project and every reference is a page', async t => {
  for (const path of [
    'index',
    'operating',
    'errors',
    'events',
    'glossary',
    'plugins/rules',
    'examples/expiry'
  ])
    t.ok(paths.includes(`${path}.html`), path)
  for (const name of ['api', 'commands', 'configuration', 'metrics'])
    t.ok(paths.includes(`reference/${name}.html`), name)
})

t.test('each error code has a stable address with its remedy', async t => {
  const errors = read('errors.html')
  const codes = readFileSync(join(import.meta.dirname, 'frozen', 'errors.txt'), 'utf8').match(/^\S+/gm) ?? []

  t.same(
    codes.filter(code => !errors.includes(`id="${code}"`)),
    []
  )
  t.match(read('reference/api.html'), '<a href="../errors.html#port_in_use"><code>port_in_use</code></a>')
})

t.test('the search finds a code, a command, a key, a metric, an event, an operation and a word', async t => {
  const search = openSearch()
  const expected = {
    port_in_use: 'errors.html#port_in_use',
    'validation.schema': 'errors.html#validation.schema',
    'sluice rule push': 'reference/commands.html#sluice-rule-push',
    operator_http_listen: 'reference/configuration.html#operator_http_listen',
    svc_rule_state: 'reference/metrics.html#svc_rule_state',
    svc_agent_connected: 'reference/metrics.html#svc_agent_connected',
    'client.flooding': 'events.html#client.flooding',
    'disk.low': 'plugins/doctor.html#disk.low',
    guardrail: 'glossary.html#guardrail'
  }

  for (const [query, url] of Object.entries(expected)) {
    const urls = search(query).map(result => result.url)
    t.ok(urls.slice(0, 5).includes(url), `${query}: ${urls.slice(0, 5).join(' ')}`)
  }
  t.ok(search('POST /v1/rules').some(({ url }) => url === 'reference/api.html#post-v1rules'))
  t.same(search('no such words here'), [])
})

t.test('pages load no external resources', async t => {
  for (const path of paths)
    t.notMatch(read(path), /(?:<script|<link|<img)[^>]*(?:src|href)="https?:|@import|url\(/, path)
  t.notMatch(read('style.css'), /https?:|@import|url\(/)
})

t.test('a dead link to a document or an anchor fails the build', async t => {
  const page: Page = {
    path: 'a.html',
    title: 'A',
    group: 'Start',
    source: 'README.md',
    hasRows: false,
    text: '[b](docs/NONE.md)'
  }
  t.throws(() => linked(page, []), /README\.md: .*docs\/NONE\.md.* does not exist/)
  t.equal(linked({ ...page, text: '[b](LICENSE)' }, []), 'b')
  const dead = deadLinks(
    new Map([['a/b.html', '<a id="x" href="../c.html"></a><a href="#y"></a><a href="#x"></a>']])
  )
  t.same(dead, ['a/b.html: ../c.html', 'a/b.html: #y'])
})

t.test('anchors match those of code hosts, and codes keep their dots', async t => {
  t.equal(slug('Where do I change ...?'), 'where-do-i-change-')
  t.equal(slug('validation.schema'), 'validation.schema')
  t.equal(
    withRowAnchors('<tr>\n<td><code>a.b</code>, <code>c d</code></td><tr>\n<td><code>a.b</code></td>'),
    '<tr>\n<td><a id="a.b"></a><code>a.b</code>, <code>c d</code></td><tr>\n<td><code>a.b</code></td>'
  )
})
