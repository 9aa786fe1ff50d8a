// The generated reference of plugins.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type TProperties, Type } from 'typebox'
import { builtinPlugins } from '../../../config/builtin-plugins.ts'
import { plugins as builtin } from '../../../config/plugins.ts'
import { defineCode } from '../../../kernel/base/errors.ts'
import { defineCommand } from '../../../kernel/cli/command.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import { metricsSlot } from '../../../kernel/metrics.ts'
import { definePlugin, type Kernel, type Plugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import { sluice } from '../../../test/support/process.ts'
import { openProgram } from '../../cli/program/program.ts'
import * as publicNames from '../../public.ts'
import { type Catalogue, loadCatalogue, pickPlugin } from '../catalogue.ts'
import { describePlugin } from '../describe-plugin.ts'
import { fieldsOf, typeOf } from '../reference/fields.ts'
import { makeReference } from '../reference/page.ts'
import { scaffold } from '../scaffold.ts'

const closed = { additionalProperties: false }

/** A plugin that uses one schema for its settings, a body and arguments. */
const acme = (fields: TProperties): Plugin =>
  definePlugin({
    name: 'acme',
    version: '1.0.0',
    kernel: '^2.0.0',
    config: Type.Object(fields, closed),
    codes: [defineCode('acme_failed', 422, 3)],
    routes: [
      defineRoute({
        method: 'POST',
        url: '/v1/acme',
        action: 'acme.make',
        access: 'superadmin',
        status: 201,
        summary: 'Makes one.',
        schema: () => ({ body: Type.Object(fields, closed), reply: Type.Object({}) }),
        run: async (_: Kernel) => ({})
      })
    ],
    commands: [
      defineCommand({
        name: 'acme make',
        summary: 'Make one.',
        args: Type.Object(fields),
        needs: 'api',
        async run() {}
      })
    ]
  })

const before = { size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9, description: 'How large.' })) }
const added = {
  ...before,
  colour: Type.Optional(Type.String({ maxLength: 7, default: 'red', description: 'How it looks.' }))
}

async function builtins(): Promise<Plugin[]> {
  return Promise.all(Object.values(builtin).map(async load => (await load()).default))
}

const withBuiltins = async (plugin: Plugin): Promise<Catalogue & { name: string }> => ({
  servers: [...(await builtins()), plugin],
  agents: [],
  fromOf: name => (name === plugin.name ? './acme' : 'built in'),
  name: plugin.name
})

const helpOf = (plugin: Plugin): string =>
  openProgram('2.0.0', plugin.commands ?? [], async () => {})
    .commands.flatMap(group => group.commands)
    .map(command => command.helpInformation())
    .join('\n')

t.test('a field added to a schema appears in validation, OpenAPI, help and reference', async t => {
  for (const [fields, isAdded] of [
    [before, false],
    [added, true]
  ] as const) {
    const plugin = acme(fields)
    const { call } = await testServer(t, {
      plugins: [plugin],
      dir: t.testdir({ [String(isAdded)]: {} })
    })

    const { status, body } = await call('POST', '/v1/acme', { colour: 'far too long' })
    const { body: document } = await call<object>('GET', '/v1/openapi.json')
    const page = await makeReference(await withBuiltins(plugin))

    t.equal(status, 400)
    t.match(body, { error: { code: isAdded ? 'validation.schema' : 'validation.unknown_field' } })
    t.equal(JSON.stringify(document).includes('How it looks.'), isAdded, 'OpenAPI')
    t.equal(/--colour <value> +How it looks\./.test(helpOf(plugin)), isAdded, 'help')
    const rows = page.match(
      /^\| `(colour|--colour)` \| string, at most 7 characters \| default `"red"` \| How it looks\. \|$/gm
    )
    t.equal(rows?.length ?? 0, isAdded ? 3 : 0, 'reference: setting, body, option')
  }
})

t.test('explain-error and the reference page explain a code of an external plugin', async t => {
  const dir = join(import.meta.dirname, '..', '..', '..', 'test', 'third-party')
  const config = join(
    t.testdir({ 'server.toml': `[plugins."${dir}/status-page"]\nowner = "web"\n` }),
    'server.toml'
  )
  const when = 'visitors have sent 1,000 reports within an hour'

  const explained = await sluice([
    'explain-error',
    'too_many_reports',
    '--config',
    config,
    '--output',
    'json'
  ])
  const reference = await sluice(['plugin', 'reference', 'status-page', '--config', config])
  const without = await sluice(['explain-error', 'too_many_reports'])

  t.match(JSON.parse(explained.stdout), {
    code: 'too_many_reports',
    http: 429,
    exit: 6,
    by: 'status-page',
    when
  })
  t.match(reference.stdout, `| \`too_many_reports\` | 429 | 6 | ${when} | try again`)
  t.match(without, { code: 8, stderr: /known with --config/ })
})

t.test('the page of the whole server names everything that plugins declare, and is reproducible', async t => {
  const loaded = await loadCatalogue(builtinPlugins, undefined)

  const page = await makeReference(loaded)

  t.equal(await makeReference(await loadCatalogue(builtinPlugins, undefined)), page)
  for (const {
    name,
    version,
    routes = [],
    commands = [],
    codes = [],
    keys,
    config,
    store,
    exports,
    slots
  } of loaded.servers)
    for (const expected of [
      `## ${name} ${version}`,
      ...routes.map(({ method, url }) => `\`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}\``),
      ...commands.map(command => `### \`sluice ${command.name}`),
      ...codes.map(({ code }) => `| \`${code}\` |`),
      ...Object.keys({ ...keys?.properties, ...config?.properties }).map(key => `| \`${key}\` |`),
      ...(store?.entities ?? []).map(({ meta }) => `\n\`${meta.tableName}\`\n`),
      ...servicesIn(name, Object.keys(exports ?? {})),
      ...(slots ?? []).map(({ id }) => `\`${id}\``)
    ])
      t.ok(page.includes(expected), `${name}: ${expected}`)
  t.match(
    page,
    /\| `sni_pattern` \| string, at most 255 characters \| for new connections \| `rule\.sni 0\.9\.0` \|/
  )
  t.match(page, /\| `targets\[\]\.health\.state` \| `"healthy"` or `"failed"` or `"unknown"` \|/)
  t.match(page, /\| `svc_traffic_quota_bytes_used` \| gauge \| `user`, `client` \|/)
  t.match(
    page,
    /\| `max_rules_per_client` \| `SVC_MAX_RULES_PER_CLIENT` \| integer, at least 1 \| default `10000`/
  )
  const rulePush = page.split(/^#+ /m).find(section => section.startsWith('`sluice rule push '))
  t.match(rulePush, /^\| `--bandwidth-in-bps` /m, 'an option that another plugin adds to rule push')
})

/** Adds a table to the plugin, because `rules` stores the values of its rule field. */
function addTable(file: string): void {
  const entity = `defineEntity({ name: 'Idle', tableName: 'acme_idle_idle',
    properties: { rule_id: p.string().columnType('text').primary(), secs: p.integer() } })`
  const text = readFileSync(file, 'utf8')
  const changed = text
    .replace('{ definePlugin }', '{ defineEntity, definePlugin, p }')
    .replace('codes: [notTcp],', `codes: [notTcp], store: { entities: [${entity}], migrations: [] },`)
  writeFileSync(file, changed)
}

t.test('the reference of a folder starts nothing and writes nothing', async t => {
  const dir = t.testdir({ work: {} })
  scaffold('acme-idle', join(dir, 'acme-idle'))
  addTable(join(dir, 'acme-idle', 'plugin.ts'))
  const files = readdirSync(join(dir, 'acme-idle'), { recursive: true }).sort()

  const { code, stdout } = await sluice(['plugin', 'reference', join(dir, 'acme-idle')], {
    HOME: join(dir, 'work')
  })

  t.equal(code, 0)
  for (const expected of [
    /^# acme-idle 1\.0\.0$/m,
    /^- May: run any code as the user of the process, answer requests, store tables, store values of rules, export metrics, change how rules are forwarded$/m,
    /^\| `acme_idle_idle_secs` \| integer, 1 to 86400 \| for new connections \| `rule\.acme-idle 1\.0\.0` \| Idle time of this rule, in seconds\. \|$/m,
    /^### `GET \/v1\/acme-idle`\n\nRules that set an idle time\. Access: viewers, operators and superadmins\.$/m,
    /^### `sluice acme-idle list`$/m,
    /^\| `acme_idle_rules` \| gauge \| Rules that set an idle time\. \|$/m,
    /^`acme_idle_idle`\n\n\| Column \| Type \| +\|\n\| --- \| --- \| --- \|\n\| `rule_id` \| text \| primary key \|\n\| `secs` \| integer \| +\|$/m,
    /^\| `validation\.acme_idle_on_udp` \| 400 \| 3 \| the rule is not a TCP rule \|/m
  ])
    t.match(stdout, expected)
  t.same(readdirSync(join(dir, 'acme-idle'), { recursive: true }).sort(), files)
  t.same(readdirSync(dir).sort(), ['acme-idle', 'work'])
  t.same(readdirSync(join(dir, 'work')), [])
})

t.test('a plugin is found by name, by its key in the configuration, and by folder', async t => {
  const loaded = await loadCatalogue(builtinPlugins, undefined)
  const note = join(import.meta.dirname, '../../../test/third-party/note')

  t.equal((await pickPlugin(loaded, 'sni')).name, 'sni')
  const found = await pickPlugin(loaded, note)
  t.match(found, { name: 'note' })
  t.equal((await pickPlugin(found, note)).servers.length, found.servers.length, 'it is loaded once')
  await t.rejects(pickPlugin(loaded, 'nobody'), {
    message: /nobody is neither a loaded plugin nor a folder/
  })
})

t.test('metrics that exist only in a running server are not listed', async t => {
  const plugin = definePlugin({
    ...acme({}),
    fills: [
      metricsSlot.fillWith(
        ({ control }: Kernel) =>
          async () =>
            control.metrics()
      )
    ]
  })

  t.match(
    await makeReference(await withBuiltins(plugin)),
    /## Metrics\n\nSee `\/v1\/metrics` of a running server/
  )
})

t.test('types are shown with their bounds', async t => {
  const table: readonly [object, string][] = [
    [Type.Integer({ minimum: 1, maximum: 65535 }), 'integer, 1 to 65535'],
    [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), 'integer, at least 0'],
    [Type.Number({ maximum: 1 }), 'number, at most 1'],
    [Type.String({ minLength: 26, maxLength: 26 }), 'string, 26 characters'],
    [Type.String({ format: 'date-time' }), 'string (date-time)'],
    [Type.String({ pattern: '^a|b$' }), 'string, `^a|b$`'],
    [Type.Union([Type.Literal('tcp'), Type.Literal('udp'), Type.Null()]), '`"tcp"` or `"udp"` or null'],
    [Type.Array(Type.String(), { minItems: 1, maxItems: 8 }), 'list of string, 1 to 8 entries'],
    [Type.Record(Type.String(), Type.Integer()), 'map to integer'],
    [Type.Unknown(), 'any']
  ]
  for (const [schema, text] of table) t.equal(typeOf(schema), text)
})

t.test('nested fields are shown with their paths', async t => {
  const Inner = Type.Object({ at: Type.Integer(), name: Type.Optional(Type.String()) })
  const schema = Type.Object({
    one: Type.Union([Inner, Type.Null()]),
    many: Type.Array(Inner),
    named: Type.Record(Type.String(), Inner)
  })

  t.same(
    fieldsOf(schema).map(({ path, given }) => `${path} ${given}`),
    [
      'one required',
      'one.at required',
      'one.name optional',
      'many required',
      'many[].at required',
      'many[].name optional',
      'named required',
      'named.<name>.at required',
      'named.<name>.name optional'
    ]
  )
})

t.test('the services that the guide names are exports of their owners, with a public type', async t => {
  const root = join(import.meta.dirname, '../../..')
  const guide = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| `(\w+)` \| (\w+) \| `(?:\w+\.)?(\w+)` \|/gm)]

  t.ok(rows.length > 4)
  for (const [, service = '', owner = '', type = ''] of rows) {
    const plugin = (await builtin[owner]?.())?.default
    t.ok(Object.keys(plugin?.exports ?? {}).includes(service), `${owner} exports ${service}`)
    const types = readFileSync(join(root, `plugins/${owner}/exports.ts`), 'utf8')
    t.match(types, new RegExp(`(interface|type) .*\\b${type}\\b`), type)
  }
})

const logger = {
  name: 'acme-log',
  agent: '^1.0.0',
  config: Type.Object({ collector: Type.String({ description: 'Where lines go.' }) }),
  capabilities: { 'rule.acme-log': '1.0.0' },
  fields: [{ key: 'acme_log', message: {} as never, plan() {} }],
  shapes: [{ shape: 'udp' as const }],
  commands: [
    {
      name: 'lines',
      summary: 'Count the lines.',
      args: Type.Object({ top: Type.Integer({ description: 'How many.' }) }),
      positional: ['top'],
      run: () => ({})
    }
  ],
  meters: () => [],
  metrics: () => []
}

t.test('an agent half is described with its settings, fields, commands, meters and metrics', async t => {
  const loaded = { servers: await builtins(), agents: [logger], fromOf: () => './log', name: 'acme-log' }

  const page = await makeReference(loaded)

  for (const expected of [
    /^# acme-log$/m,
    /^- Meters: rules pass meters of this plugin/m,
    /^- Rule shapes: `udp`$/m,
    /^- Metrics: `svc_agent_acme_log_\*`, on the agent's `\/metrics`$/m,
    /^In `\[plugins\."\.\/log"\]` of the agent's configuration:$/m,
    /^\| `collector` \| string \| required \| Where lines go\. \|$/m,
    /^\| `acme_log` \| `plan` \|$/m,
    /^#+ `sluice agent lines TOP`$/m
  ])
    t.match(page, expected)
  t.match(describePlugin(loaded, 'acme-log'), {
    agent: {
      settings: ['collector'],
      commands: ['agent lines'],
      kinds: [],
      shapes: ['udp'],
      meters: true,
      metrics: true
    }
  })
  t.equal((await pickPlugin(loaded, 'acme-log')).name, 'acme-log')
})

t.test(
  'the guide names every slot that plugins can import, and the services of the plugins that own them',
  async t => {
    const guide = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    const { servers } = await loadCatalogue(builtinPlugins, undefined)
    const isSlot = (value: unknown): boolean =>
      value instanceof Object && 'fill' in value && 'fillWith' in value
    const slots = Object.entries(publicNames).flatMap(([name, value]) =>
      Object.prototype.toString.call(value) === '[object Module]'
        ? Object.entries(value).flatMap(([key, one]) => (isSlot(one) ? [`${name}.${key}`] : []))
        : isSlot(value)
          ? [name]
          : []
    )
    const offered = servers.filter(({ name }) => name in publicNames || ['auth', 'http'].includes(name))

    t.ok(slots.length > 20, 'slots are found')
    for (const slot of slots) t.ok(guide.includes(`| \`${slot}\` |`), slot)
    for (const { name, exports = {} } of offered)
      for (const key of Object.keys(exports)) t.ok(guide.includes(`| \`${key}\` | ${name} |`), key)
  }
)

const servicesIn = (name: string, services: readonly string[]): string[] =>
  services.length === 0
    ? []
    : [
        `A plugin that needs \`${name}\` has ${services.map(key => `\`${key}\``).join(', ')} among its services`
      ]
