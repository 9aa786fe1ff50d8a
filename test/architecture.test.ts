// The rules of the source tree: which folder may import which, how large the kernel and a function may be.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { words as dialect, dialectIn } from './support/sql-dialect.ts'

const root = join(import.meta.dirname, '..')
const files = globSync('{kernel,plugins,agent,config,kit}/**/*.ts', { cwd: root }).filter(
  file => !/[/](test|node_modules)[/]|[/]operator-api\.ts$/.test(file)
)
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

interface Import {
  readonly from: string
  readonly to: string // relative to the root, or a package
  readonly isType: boolean
}

const imports: readonly Import[] = files.flatMap(from =>
  [...textOf(from).matchAll(/(?:import|export)\s[^'"();]*?from\s+'([^']+)'|import\('([^']+)'\)/g)].map(
    ([text, fixed, lazy]) => {
      const specifier = fixed ?? lazy ?? ''
      const to = specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : specifier
      return { from, to, isType: /^(import|export) type\b/.test(text) }
    }
  )
)

const importsThat = (match: (found: Import) => boolean): string[] =>
  imports.filter(match).map(({ from, to }) => `${from} -> ${to}`)

t.test('the kernel imports neither plugins nor the agent, except in its entry point', async t => {
  const found = importsThat(
    ({ from, to }) =>
      from.startsWith('kernel/') &&
      from !== 'kernel/bin.ts' &&
      !from.startsWith('kernel/platform/') &&
      /^(plugins|agent|config|native|kernel\/platform)\//.test(to)
  )

  t.same(found, [])
})

t.test(
  'kernel/platform imports only itself, the base and the wire of the kernel, and the contracts of plugins',
  async t => {
    const found = importsThat(
      ({ from, to }) =>
        from.startsWith('kernel/platform/') &&
        /^(kernel|plugins|agent|config|native|kit)\//.test(to) &&
        !/^(kernel\/(base|platform|wire)\/|(kernel|agent)\/plugin\.ts)/.test(to)
    )

    t.same(found, [])
  }
)

t.test('a plugin imports only the exports of plugins that it needs', async t => {
  const found = importsThat(({ from, to }) => {
    const [, own] = /^plugins\/([^/]+)\//.exec(from) ?? []
    const [, other, file] = /^plugins\/([^/]+)\/(.+)$/.exec(to) ?? []
    if (own === undefined || other === undefined || own === other) return false
    const isNeeded = new RegExp(`['"]?${other}['"]?: '\\^`).test(textOf(`plugins/${own}/plugin.ts`))
    return !isNeeded || !/^(check-|command-|listener-|page-)?exports\.ts$/.test(file ?? '')
  })

  t.same(found, [])
})

t.test('there are no import cycles, even of types or lazy imports', async t => {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (path.includes(file) || finished.has(file)) return
    for (const { to } of targets.get(file) ?? []) visit(to, [...path, file])
    finished.add(file)
  }
  for (const file of files) visit(file, [])

  t.same(cycles, [])
})

t.test('no function is longer than 60 lines', async t => {
  const components = globSync('plugins/console/web/**/*.tsx', { cwd: root, exclude: ['**/node_modules/**'] })
  const found = [...files, ...components].flatMap(file => {
    const lines = textOf(file).split('\n')
    return lines.flatMap((line, start) => {
      const [, indent] = functionStart.exec(line) ?? []
      if (indent === undefined) return []
      const length = lines.slice(start).findIndex(end => end.startsWith(`${indent}}`)) + 1
      return length > 60 ? [`${file}:${start + 1} ${length} lines`] : []
    })
  })

  t.same(found, [])
})

/** A line that opens the body of a function, as the formatter writes it: arrow, function or method. */
const functionStart = /^( *)(?!.*\b(?:if|for|while|switch|catch) \().*(?:=>|\)(?:: [^={]+)?) \{$/

t.test("an agent half reaches only files of its plugin, the agent's contract, and shared code", async t => {
  const shared =
    /^(agent\/(plugin\.ts|wire\/.*)|kernel\/((wire|base)\/.*|platform\/(?!api\/).*|slot\.ts)|plugins\/http\/listener-exports\.ts)$/
  const isHalf = (file: string): boolean => /^plugins\/[^/]+\/agent(\.ts$|\/)/.test(file)
  const reached = new Set(files.filter(isHalf))
  const found: string[] = []
  for (const file of reached)
    for (const { from, to, isType } of imports.filter(({ from }) => from === file))
      if (to.startsWith(from.split('/').slice(0, 2).join('/'))) reached.add(to)
      else if (/^(kernel|agent|plugins)\//.test(to) && !shared.test(to) && (isHalf(file) || !isType))
        found.push(`${from} -> ${to}`)

  t.same(found, [])
  t.ok(reached.size > 30, `${reached.size} files`)
})

t.test('the agent does not import the server', async t => {
  const allowed =
    /^(agent\/|kernel\/(wire|base)\/|kernel\/cli\/(args|command)\.ts|config\/agent-plugins\.ts|kernel\/platform\/(?!api\/)|native\/index\.ts)/
  const found = importsThat(
    ({ from, to }) =>
      from.startsWith('agent/') && /^(kernel|plugins|config|native)\//.test(to) && !allowed.test(to)
  )

  t.same(found, [])
})

t.test('on the server, only the store imports SQLite and PostgreSQL', async t => {
  const found = importsThat(
    ({ from, to }) =>
      (/^(@mikro-orm\/sqlite|better-sqlite3)$/.test(to) && !/^(kernel\/store|agent)\//.test(from)) ||
      (to === 'pg' && !from.startsWith('kernel/store/postgres/'))
  )

  t.same(found, [])
})

t.test('outside the folders of drivers, SQL works on SQLite and PostgreSQL', async t => {
  const server = files.filter(file =>
    /^(?!agent\/|kernel\/store\/(?:sqlite|postgres)\/|plugins\/console\/web\/)/.test(file)
  )
  const booleans = server
    .filter(file => file.endsWith('/entities.ts'))
    .flatMap(file => [...textOf(file).matchAll(/(\w+): p\.boolean\(\)(?!\.formula)/g)])
    .map(([, name = '']) => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`))
  const found = server
    .flatMap(file => dialectIn(withoutComments(textOf(file)), booleans).map(what => `${file}: ${what}`))
    .filter(found => !translated.includes(found))

  t.same(found, [])
  for (const { example, pattern } of dialect) t.match(example, pattern)
  t.same(dialectIn('select id from kernel_user where disabled = 0', booleans).length, 1)
})

/** kernel/store/postgres/schema.ts translates these; the last is a text. */
const translated: readonly string[] = [
  'plugins/traffic/migrations/0001-traffic.ts: autoincrement: write an id that the code generates',
  'plugins/traffic/migrations/0001-traffic.ts: without rowid: write the primary key',
  'kit/conformance/schema.ts: autoincrement: write an id that the code generates'
]

t.test(
  'the kernel has at most 3,000 lines; the folders of databases and processes have their own limits',
  async t => {
    const limits = {
      'kernel/platform/': 850,
      'kernel/store/sql/': 800,
      'kernel/store/sqlite/': 560,
      'kernel/store/postgres/': 1400
    }
    const isOf = (folder: string) => (file: string) => file.startsWith(folder)
    const linesOf = (chosen: readonly string[]) =>
      chosen.reduce((sum, file) => sum + textOf(file).split('\n').length - 1, 0)
    const kernel = files.filter(file => file.startsWith('kernel/'))

    const own = linesOf(kernel.filter(file => !Object.keys(limits).some(folder => file.startsWith(folder))))

    t.ok(own <= 3000, `${own} lines`)
    for (const [folder, limit] of Object.entries(limits)) {
      const lines = linesOf(kernel.filter(isOf(folder)))
      t.ok(lines <= limit, `${folder} has ${lines} lines`)
    }
  }
)

t.test('the kernel does not name features', async t => {
  const features = /\b(rules?|quotas?|sni|splice|audits?)\b/i
  const found = files
    .filter(file => file.startsWith('kernel/'))
    .flatMap(file =>
      withoutComments(textOf(file))
        .split('\n')
        .flatMap((line, at) =>
          features.test(words(line.replaceAll('.splice(', ''))) ? [`${file}:${at + 1} ${line.trim()}`] : []
        )
    )

  t.same(found, [])
})

t.test('no manifest is longer than 80 lines', async t => {
  const long = files
    .filter(file => /^plugins\/[^/]+\/plugin\.ts$/.test(file))
    .filter(file => textOf(file).split('\n').length > 81)

  t.same(long, [])
})

t.test('only the clock module reads the wall clock', async t => {
  const found = filesWith(/\bDate\.now\b|new Date\(\)|\bDate\(\)|process\.hrtime/)

  t.same(found, [
    'kernel/base/clock.ts',
    'plugins/service/notify/notifier.ts' // sd_notify wants the monotonic clock of the system, not that of the process
  ])
})

t.test(
  'timers come from the clock service, except in the portable engine and where none can be passed',
  async t => {
    const found = filesWith(/(?<![.\w])set(Timeout|Interval)\(/).filter(
      file => !file.startsWith('agent/portable-engine/')
    )

    t.same(found, [
      'agent/main.ts', // keeps the process running
      'agent/state/wait-for-lock.ts', // another process holds the lock in real time
      'kernel/base/attribution.ts', // the time limit of a plugin must not depend on the plugin's clock
      'kernel/base/clock.ts',
      'kernel/store/postgres/signals.ts', // connections wait in real time, like those of the driver
      'kernel/store/sqlite/wait-for-lock.ts', // another process holds the lock in real time
      'plugins/audit/commands.ts', // a command polls
      'plugins/cli/hold-refused-start.ts', // keeps the process running
      'plugins/process/idle-memory.ts', // compares with CPU time, which is real
      'plugins/process/watchdog-worker.ts',
      'plugins/process/watchdog.ts', // checks that the event loop itself runs
      'plugins/stats/commands.ts' // a command polls
    ])
  }
)

/** Returns the files with a match in their code. Skips the console, which uses the clock and timers of a browser. */
const filesWith = (pattern: RegExp): string[] =>
  files
    .filter(file => !file.startsWith('plugins/console/web/'))
    .filter(file => pattern.test(withoutComments(textOf(file))))
    .sort()

const withoutComments = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, comment => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/(^|[^:'])\/\/.*$/gm, '$1')

/** Splits identifiers: ruleId becomes `rule Id`. */
const words = (line: string): string => line.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ')
