// The house keeps its shape: who may import whom, how large the kernel is, and which words it does not know.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const files = globSync('{kernel,plugins,agent,config,kit}/**/*.ts', { cwd: root }).filter(
  file => !file.includes('/test/')
)
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

interface Import {
  readonly from: string
  readonly to: string // relative to the root, or a package
  readonly isType: boolean
}

const imports: readonly Import[] = files.flatMap(from =>
  [
    ...textOf(from).matchAll(/(?:import|export)\s+(type\s)?[^'"();]*?from\s+'([^']+)'|import\('([^']+)'\)/g)
  ].map(([, type, still, dynamic]) => {
    const specifier = still ?? dynamic ?? ''
    const to = specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : specifier
    return { from, to, isType: type !== undefined }
  })
)

const refused = (where: (found: Import) => boolean): string[] =>
  imports.filter(where).map(({ from, to }) => `${from} -> ${to}`)

t.test('the kernel imports neither plugins nor the agent, its entry apart', async t => {
  const found = refused(
    ({ from, to }) =>
      from.startsWith('kernel/') && from !== 'kernel/bin.ts' && /^(plugins|agent|config|native)\//.test(to)
  )

  t.same(found, [])
})

t.test(
  'a plugin imports another only through its exports, its wire, or a type, and only if it needs it',
  async t => {
    const found = refused(({ from, to, isType }) => {
      const [, mine] = /^plugins\/([^/]+)\//.exec(from) ?? []
      const [, theirs, file] = /^plugins\/([^/]+)\/(.+)$/.exec(to) ?? []
      if (mine === undefined || theirs === undefined || mine === theirs) return false
      const isNeeded = new RegExp(`['"]?${theirs}['"]?: '\\^`).test(textOf(`plugins/${mine}/plugin.ts`))
      return !isNeeded || !(isType || file === 'exports.ts' || file === 'wire.ts')
    })

    t.same(found, [])
  }
)

t.test("an agent's half sees its own wire, the agent's contract, and what both halves share", async t => {
  const shared = /^(agent\/plugin\.ts|kernel\/(wire|base)\/.*)$/
  const found = refused(({ from, to }) => {
    const [, mine] = /^plugins\/([^/]+)\/agent\.ts$/.exec(from) ?? []
    return mine !== undefined && to.includes('/') && /^(kernel|agent|plugins)\//.test(to)
      ? !shared.test(to) && ![`plugins/${mine}/wire.ts`, `plugins/${mine}/${mine}.ts`].includes(to)
      : false
  })

  t.same(found, [])
})

t.test('the agent imports nothing of the server', async t => {
  const allowed =
    /^(agent\/|kernel\/(wire|base)\/|kernel\/cli\/command\.ts|config\/(agent-plugins\.ts|external\/)|kernel\/loader\.ts|native\/index\.ts|plugins\/[^/]+\/(wire|codes)\.ts)/
  const found = refused(
    ({ from, to }) =>
      from.startsWith('agent/') && /^(kernel|plugins|config|native)\//.test(to) && !allowed.test(to)
  )

  t.same(found, [])
})

t.test('only the store knows SQLite', async t => {
  const found = refused(
    ({ from, to }) =>
      /^(@mikro-orm\/sqlite|better-sqlite3)$/.test(to) && !/^(kernel\/store|agent)\//.test(from)
  )

  t.same(found, [])
})

t.test('the kernel is small enough to be read in one sitting', async t => {
  const lines = files
    .filter(file => file.startsWith('kernel/'))
    .reduce((sum, file) => sum + textOf(file).split('\n').length - 1, 0)

  t.ok(lines <= 2800, `${lines} lines`)
})

t.test('the kernel does not know what a feature is', async t => {
  const nouns = /\b(rules?|quotas?|sni|splice|audits?)\b/i
  const found = files
    .filter(file => file.startsWith('kernel/'))
    .flatMap(file =>
      withoutComments(textOf(file))
        .split('\n')
        .flatMap((line, at) =>
          nouns.test(words(line.replaceAll('.splice(', ''))) ? [`${file}:${at + 1} ${line.trim()}`] : []
        )
    )

  t.same(found, [])
})

t.test('a manifest reads like a table of contents', async t => {
  const long = files
    .filter(file => /^plugins\/[^/]+\/plugin\.ts$/.test(file))
    .filter(file => textOf(file).split('\n').length > 81)

  t.same(long, [])
})

const withoutComments = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, comment => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/(^|[^:'])\/\/.*$/gm, '$1')

/** ruleId is three words to a reader. */
const words = (line: string): string => line.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ')
