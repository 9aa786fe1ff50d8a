// Snapshots of the public interface: error codes, routes, commands, log events, wire schemas, public imports. A
// difference is a change for users. TAP_SNAPSHOT=1 rewrites the files.
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventsOfCode } from '../config/build/log-events.ts'
import { pluginApi } from '../config/build/plugin-api.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { kernelCodes } from '../kernel/plugin-problems.ts'

const root = join(import.meta.dirname, '..')
const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))

function frozen(t: Test, name: string, lines: readonly string[]): void {
  const file = join(root, 'test/frozen', name)
  const text = `${lines.join('\n')}\n`
  if (process.env['TAP_SNAPSHOT'] === '1') writeFileSync(file, text)
  t.equal(text, readFileSync(file, 'utf8'))
}

t.test('the error table', async t => {
  const rows = [...kernelCodes, ...plugins.flatMap(({ codes }) => codes ?? [])]

  frozen(t, 'errors.txt', rows.map(({ code, http, exit }) => `${code} ${http} ${exit}`).sort())
})

t.test('the routes, with their access', async t => {
  const routes = plugins.flatMap(({ routes }) => routes ?? [])

  frozen(
    t,
    'routes.txt',
    routes
      .map(({ method, url, access, status, action }) => `${url} ${method} ${access} ${status} ${action}`)
      .sort()
  )
})

t.test('the commands', async t => {
  frozen(
    t,
    'commands.txt',
    plugins.flatMap(({ commands }) => (commands ?? []).map(({ name }) => name)).sort()
  )
})

t.test('the wire', async t => {
  const files = globSync('{agent,kernel,plugins}/**/*.proto', { cwd: root, exclude: ['**/test/**'] }).sort()

  const declared = new Map(
    plugins.flatMap(({ messages = [] }) =>
      messages.flatMap(({ name, proto }) => (proto instanceof URL ? [] : [[name, proto] as const]))
    )
  )

  const texts = [
    ...files.map(file => [file, readFileSync(join(root, file), 'utf8')] as const),
    ...[...declared].sort()
  ]
  frozen(
    t,
    'wire.txt',
    texts.flatMap(([source, text]) => [
      `# ${source}`,
      ...text
        .replaceAll(/\s*\/\/.*/g, '')
        .trim()
        .split('\n')
    ])
  )
})

t.test('the imports of third-party plugins', async t => {
  const lines = await Promise.all(
    ['plugins/public.ts', 'agent/public.ts', 'kit/public.ts'].map(async file => {
      const values = Object.entries((await import(join(root, file))) as object)
      const members = values.flatMap(([name, value]) =>
        name !== 'Type' && value?.[Symbol.toStringTag] === 'Module'
          ? Object.keys(value).map(key => `${name}.${key}`)
          : [name]
      )
      const text = readFileSync(join(root, file), 'utf8')
      const types = [
        ...text.matchAll(/\btype (\w+)\b|export (?:interface|type) (\w+)|export type \{ (\w+) \}/g)
      ]
      const names = new Set([
        ...members,
        ...types.map(([, one, two, three]) => `type ${one ?? two ?? three}`)
      ])
      return [`# ${file}`, ...[...names].sort()]
    })
  )
  frozen(t, 'surface.txt', lines.flat())
})

t.test('the log events, with their level, component and fields', async t => {
  const lines = eventsOfCode().map(({ event, level, by, fields }) => [event, level, by, ...fields].join(' '))

  frozen(t, 'events.txt', [...new Set(lines)].sort())
})

t.test('the declarations of what plugins can import, by a hash of each', async t => {
  const sections = pluginApi().split(/^### /m).slice(1)

  frozen(
    t,
    'declarations.txt',
    sections.map(section => {
      const [name = ''] = section.split('\n')
      return `${name} ${hashOf(/^```ts\n(.*?)^```/ms.exec(section)?.[1] ?? '')}`
    })
  )
})

/** Ignores comments and line breaks. */
const hashOf = (code: string): string =>
  createHash('sha256')
    .update(code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').replaceAll(/\s+/g, ' '))
    .digest('hex')
    .slice(0, 12)

t.test('the page of plugin imports has every name', async t => {
  const text = pluginApi()

  const headings = [...text.matchAll(/^### (\S+)$/gm)].map(([, name]) => name)
  for (const name of [
    'Fault',
    'rules.Rules',
    'users.Users',
    'stats.Stats',
    'EndedConnection',
    'testServer',
    'Resource'
  ])
    t.ok(headings.includes(name), name)
  t.notMatch(text, /^```ts\n\n?```/m, 'no listing is empty')
  t.notMatch(text, /[([{]\n```$/m, 'no declaration is cut')
  t.match(text, /^const User = defineEntity\(\{[^`]+^type User = /m, 'an entity has its properties')
  t.match(
    text,
    /^### connectionEnds\n[\s\S]{0,300}```ts\nconst connectionEnds = \[\n {2}'/m,
    'a closed list has its values'
  )
  t.match(text, /^## `sluice\/agent-plugin`\n[^#]*^Declared above: .*`defineMessage`.*`respond`/m)
})
