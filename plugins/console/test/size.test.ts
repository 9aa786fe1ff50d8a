// Limits the brotli size of what a browser loads, for slow connections.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const dist = join(import.meta.dirname, '../dist')
const assets = join(dist, 'assets')
const skip = !existsSync(join(dist, 'index.html')) && 'the pages are not built: npm run build:console'
const sizeOf = (name: string): number => statSync(join(assets, `${name}.br`)).size
const kilobyte = 1000

t.test('the first page loads at most 180 KB, all pages together at most 340 KB', { skip }, async t => {
  const names = readdirSync(assets).filter(name => /\.(js|css)$/.test(name))
  const html = readFileSync(join(dist, 'index.html'), 'utf8')

  const first = new Set([...html.matchAll(/\/assets\/([^"]+\.(?:js|css))"/g)].map(([, name]) => name ?? ''))
  for (const name of first) for (const next of importsIn(name)) first.add(next)
  for (const name of names.filter(name => /^overview-/.test(name))) first.add(name)
  for (const name of first) for (const next of importsIn(name)) first.add(next)
  const sum = (some: Iterable<string>): number => [...some].reduce((total, name) => total + sizeOf(name), 0)

  t.ok(names.length > 0)
  t.ok(sum(first) <= 180 * kilobyte, `the first page has ${sum(first)} bytes`)
  t.ok(sum(names) <= 340 * kilobyte, `all have ${sum(names)} bytes`)
})

/** Returns the static imports of a script. */
function importsIn(name: string): string[] {
  if (!name.endsWith('.js')) return []
  const text = readFileSync(join(assets, name), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)].map(([, found]) => found ?? '')
}
