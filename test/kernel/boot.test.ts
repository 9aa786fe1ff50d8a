// Errors that stop a boot name the plugin at fault.
import { Migration } from '@mikro-orm/migrations'
import { asFunction } from 'awilix'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { controlSlot } from '../../kernel/control/host.ts'
import { boot } from '../../kernel/kernel.ts'
import { definePlugin, type Kernel, type Plugin } from '../../kernel/plugin.ts'
import { defineSlot } from '../../kernel/slot.ts'
import { defineMessage } from '../../kernel/wire/message.ts'
import { type LogLine, recordLog, testServer } from '../../kit/test-server.ts'
import certificate from '../../plugins/certificate/plugin.ts'
import control from '../../plugins/control/plugin.ts'
import http from '../../plugins/http/plugin.ts'
import servers from '../../plugins/servers/plugin.ts'
import { Echo } from '../support/echo.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { privateDir } from '../support/private-dir.ts'

const base = { version: '1.0.0', kernel: '^2.0.0' }

const bootWith = (
  t: Test,
  plugins: readonly Plugin[],
  keys: object = {},
  sections: Record<string, unknown> = {},
  lines: LogLine[] = []
) =>
  boot({
    plugins: [certificate, servers, control, http, ...plugins],
    keys: { operator_http_listen: '127.0.0.1:0', control_listen: '127.0.0.1:0', ...keys },
    sections,
    dataDir: privateDir(t),
    version: '2.0.0',
    log: recordLog(lines)
  })

const route = {
  method: 'GET',
  url: '/v1/x/:id',
  action: 'x.read',
  access: 'user',
  status: 200,
  summary: 'x',
  schema: () => ({ reply: Type.Object({}) }),
  run: async () => ({})
} as const
const placeSlot = defineSlot<string>('owner.place', { keyOf: value => value })
const a = definePlugin({ ...base, name: 'a' })

const conflicts: readonly [string, Plugin[], RegExp][] = [
  [
    'cycle',
    [
      definePlugin({ ...base, name: 'a', needs: { b: '^1.0.0' } }),
      definePlugin({ ...base, name: 'b', needs: { a: '^1.0.0' } })
    ],
    /need each other: a -> b -> a/
  ],
  [
    'missing',
    [definePlugin({ ...base, name: 'b', needs: { a: '^1.0.0' } })],
    /b needs a \^1\.0\.0, which is not loaded/
  ],
  [
    'range',
    [a, definePlugin({ ...base, name: 'b', needs: { a: '^2.0.0' } })],
    /b 1\.0\.0 needs a \^2\.0\.0, found 1\.0\.0: .* supports 1\.0\.0, or install a \^2\.0\.0/
  ],
  [
    'contract',
    [definePlugin({ ...base, name: 'old', kernel: '^0.9.0' })],
    /old 1\.0\.0 needs sluice with kernel \^0\.9\.0, found 2\.0\.0: .* or install sluice with kernel \^0\.9\.0/
  ],
  [
    'no range',
    [a, definePlugin({ ...base, name: 'b', needs: { a: 'latest' } })],
    /b 1\.0\.0 needs a latest, which is not a version range; write it like \^1\.0\.0/
  ],
  ['manifest', [definePlugin({ ...base, name: 'Bad_Name' })], /Bad_Name: manifest \/name/],
  [
    'route',
    [
      definePlugin({ ...base, name: 'a', routes: [route] }),
      definePlugin({ ...base, name: 'b', routes: [{ ...route, url: '/v1/x/:other', action: 'y' }] })
    ],
    /route GET \/v1\/x\/: is claimed by a and b/
  ],
  [
    'path',
    [
      definePlugin({
        ...base,
        name: 'a',
        prefix: '/pages',
        routes: ['/pages', '/pages/x', '/pages.json', '/pagesx'].map(url => ({ ...route, url, action: url }))
      })
    ],
    /^(?!.*route \/pages[/.:])a: route \/pagesx must begin with \/v1\//m
  ],
  [
    'message',
    [
      definePlugin({ ...base, name: 'a', messages: [Echo] }),
      definePlugin({ ...base, name: 'b', messages: [Echo] })
    ],
    /message sluice\.echo\.Echo is claimed by a and b/
  ],
  [
    'code',
    [definePlugin({ ...base, name: 'a', codes: [{ code: 'internal', http: 500, exit: 1 }] })],
    /code internal is claimed by the kernel and a/
  ],
  [
    'key',
    [definePlugin({ ...base, name: 'a', keys: Type.Object({ log_level: Type.String() }) })],
    /key log_level is claimed by the kernel and a/
  ],
  [
    'slot',
    [definePlugin({ ...base, name: 'b', fills: [placeSlot.fill('x')] })],
    /b fills owner\.place, which no loaded plugin owns/
  ],
  [
    'need',
    [
      definePlugin({ ...base, name: 'owner', slots: [placeSlot] }),
      definePlugin({ ...base, name: 'b', fills: [placeSlot.fill('x')] })
    ],
    /b fills a slot of owner; add owner to `needs`/
  ],
  [
    'service',
    [
      definePlugin<Kernel & { stranger: string }>({
        ...base,
        name: 'stranger',
        services: { stranger: asFunction(({ rules }: { rules: object }) => String(rules)) }
      })
    ],
    /plugin stranger: cannot make stranger/
  ],
  [
    'wire',
    [
      definePlugin({
        ...base,
        name: 'a',
        messages: [defineMessage({ ...Echo, body: Type.Object({ txet: Type.String() }) })]
      })
    ],
    /only in the/
  ],
  [
    'start',
    [
      definePlugin({
        ...base,
        name: 'a',
        async start() {
          throw new Error('no luck')
        }
      })
    ],
    /plugin a did not start: no luck/
  ]
]

t.test('conflicting plugins stop the boot and are named', async t => {
  for (const [name, plugins, problem] of conflicts)
    await t.rejects(bootWith(t, plugins), { message: problem }, name)
})

t.test('two plugins cannot fill a slot with the same key', async t => {
  const needs = { owner: '^1.0.0' }
  const owner = definePlugin({
    ...base,
    name: 'owner',
    slots: [placeSlot],
    async start({ deps }) {
      deps.filled(placeSlot)
    }
  })
  const twin = (name: string) => definePlugin({ ...base, name, needs, fills: [placeSlot.fill('x')] })

  await t.rejects(bootWith(t, [owner, twin('one'), twin('two')]), {
    message: /owner\.place x is claimed by one and two/
  })
})

t.test('all problems of the configuration are reported together, with the nearest name', async t => {
  const tuned = definePlugin({ ...base, name: 'tuned', config: Type.Object({ knob: Type.Integer() }) })
  const keys = { contol_listen: 'x', log_format: 'xml', operator_token: 'short' }

  await t.rejects(bootWith(t, [tuned], keys, { tuned: { knbo: 9 } }), {
    errorCode: { code: 'startup.config_invalid', exit: 78 },
    message:
      /(?=[\s\S]*unknown key contol_listen; did you mean control_listen\?)(?=[\s\S]*log_format)(?=[\s\S]*operator_token)(?=[\s\S]*unknown key plugins\.tuned\.knbo; did you mean knob\?)/
  })
})

t.test('a plugin gets its section with defaults, and its own keys', async t => {
  const seen: unknown[] = []
  const tuned = definePlugin({
    ...base,
    name: 'tuned',
    config: Type.Object({ knob: Type.Integer({ default: 7 }) }),
    keys: Type.Object({ tuned_secs: Type.Integer({ default: 30 }) }),
    start: async ({ deps: { config } }) => void seen.push(config)
  })

  await (await bootWith(t, [tuned], { tuned_secs: 5 })).stop()
  await (await bootWith(t, [tuned], {}, { tuned: { knob: 9 } })).stop()

  t.same(seen, [
    { knob: 7, tuned_secs: 5 },
    { knob: 9, tuned_secs: 30 }
  ])
})

t.test('resources are released in reverse order, also when a later plugin fails to start', async t => {
  const order: string[] = []
  const good = (name: string, needs?: Record<string, string>) =>
    definePlugin({
      ...base,
      name,
      ...(needs && { needs }),
      async start({ defer }) {
        defer(() => void order.push(name))
      }
    })
  const bad = definePlugin({
    ...base,
    name: 'z',
    needs: { b: '^1.0.0' },
    async start() {
      throw new Error('no luck')
    }
  })

  await t.rejects(bootWith(t, [good('a'), good('b', { a: '^1.0.0' }), bad]))

  t.same(order, ['b', 'a'])
})

t.test('exactly one plugin fills the slots of HTTP host and control stream', async t => {
  const options = { sections: {}, dataDir: privateDir(t), version: '2.0.0', log: recordLog([]) }
  for (const [slot, host, other] of [
    ['kernel.host', http, control],
    ['kernel.control', control, http]
  ] as const) {
    const rival = definePlugin({ ...base, name: 'rival', fills: host.fills ?? [] })
    const alone = definePlugin({ ...servers, needs: {} }) // it needs http for its routes
    const none = boot({ plugins: [certificate, alone, other], keys: {}, ...options })

    await t.rejects(none, {
      errorCode: { code: 'startup.config_invalid' },
      message: `no plugin fills ${slot}, and a server needs one; enable it`
    })
    await t.rejects(bootWith(t, [rival]), {
      message: `${host.name} and rival both fill ${slot}; disable one`
    })
  }
})

t.test('a slot value that needs services cannot be read before they exist', async t => {
  const eager = definePlugin({
    ...base,
    name: 'eager',
    fills: [controlSlot.fillWith(() => () => Promise.reject(new Error('never opened')))]
  })
  const plugins = [eager, http]

  const booting = boot({
    plugins,
    keys: {},
    sections: {},
    dataDir: privateDir(t),
    version: '2.0.0',
    log: recordLog([])
  })

  await t.rejects(booting, { message: /eager is not wired yet/ })
})

t.test('a start that hangs is named', async t => {
  const started = Promise.withResolvers<void>()
  const start = (): Promise<void> => {
    started.resolve()
    return new Promise(() => {})
  }
  const timers = fakeTimers(t)
  const failed = t.rejects(bootWith(t, [definePlugin({ ...base, name: 'hung', start })]), {
    message: 'plugin hung did not start: start took more than 10 s'
  })
  await started.promise

  timers.advance(10)

  await failed
})

t.test('a release that hangs or fails is named, and the other releases run', async t => {
  const started = Promise.withResolvers<void>()
  const released: string[] = []
  const releasing = (name: string, release: () => void | Promise<void>) =>
    definePlugin({ ...base, name, start: async ({ defer }) => defer(release) })
  const hang = (): Promise<void> => {
    started.resolve()
    return new Promise(() => {})
  }
  const fail = (): void => {
    throw new Error('cannot undo')
  }
  const { stop } = await testServer(t, {
    plugins: [releasing('a', () => void released.push('a')), releasing('b', fail), releasing('c', hang)]
  })
  const timers = fakeTimers(t)
  const stopping = t.rejects(stop(), {
    errors: [
      { message: 'plugin c did not stop: a release took more than 10 s' },
      { message: 'plugin b did not stop: cannot undo' }
    ]
  })
  await started.promise

  timers.advance(10)

  await stopping
  t.same(released, ['a'])
})

t.test('a plugin that fails to start is named, even if another one cannot be released', async t => {
  const defers = definePlugin({
    ...base,
    name: 'defers',
    start: async ({ defer }) => defer(() => Promise.reject(new Error('cannot undo')))
  })
  const fails = definePlugin({
    ...base,
    name: 'fails',
    needs: { defers: '^1.0.0' },
    start: () => Promise.reject(new Error('not today'))
  })
  const lines: LogLine[] = []
  await t.rejects(bootWith(t, [defers, fails], {}, {}, lines), {
    message: 'plugin fails did not start: not today'
  })
  t.match(lines, [{ event: 'server.not_released', message: 'plugin defers did not stop: cannot undo' }])
})

t.test('all plugins start, stop, and start again on the same data', async t => {
  const first = await testServer(t)
  t.match(await first.call('GET', '/v1/auth/status'), { status: 200 })
  await first.stop()

  const second = await testServer(t, { dir: first.dir })

  t.equal(second.server.control.fingerprint, first.server.control.fingerprint)
})

t.test('an error while creating a slot value names the filling plugin, not the reader', async t => {
  const owner = definePlugin({
    ...base,
    name: 'owner',
    slots: [placeSlot],
    start: async ({ deps: { filled } }) => void filled(placeSlot)
  })
  const rowdy = definePlugin({
    ...base,
    name: 'rowdy',
    needs: { owner: '^1.0.0' },
    fills: [
      placeSlot.fillWith((): string => {
        throw new Error('no such place')
      })
    ]
  })

  await t.rejects(bootWith(t, [owner, rowdy]), {
    errorCode: { code: 'startup.plugin_failed' },
    message: 'plugin rowdy cannot fill owner.place: no such place'
  })
})

t.test('a migration that fails is named, and the database is unchanged', async t => {
  const migrationWith = (sql: string) =>
    class extends Migration {
      override up(): void {
        this.addSql(sql)
      }
    }
  const acme = (second: string) =>
    definePlugin({
      ...base,
      name: 'acme',
      store: {
        entities: [],
        migrations: [
          { name: '0001-good', class: migrationWith('create table "acme" ("id" int not null primary key)') },
          { name: '0002-more', class: migrationWith(second) }
        ]
      }
    })
  const dataDir = privateDir(t)
  const start = (plugin: Plugin) =>
    boot({
      plugins: [certificate, servers, control, http, plugin],
      keys: { operator_http_listen: '127.0.0.1:0', control_listen: '127.0.0.1:0' },
      sections: {},
      dataDir,
      version: '2.0.0',
      log: recordLog([])
    })

  await t.rejects(start(acme('create tabel "acme_more"')), {
    errorCode: { code: 'startup.plugin_failed' },
    message: /^migration acme\/0002-more: .*near "tabel"/
  })
  const server = await start(acme('create table "acme_more" ("id" int not null primary key)'))
  await server.stop()
})

t.test('a build older than the newest one that has opened the store is refused', async t => {
  const dataDir = privateDir(t)
  const bootAs = (version: string) =>
    boot({
      plugins: [certificate, servers, control, http],
      keys: { operator_http_listen: '127.0.0.1:0', control_listen: '127.0.0.1:0' },
      sections: {},
      dataDir,
      version,
      log: recordLog([])
    })
  for (const version of ['2.0.0', '2.1.0', '2.1.0']) await (await bootAs(version)).stop()

  for (const version of ['2.0.0', '2.1.0-rc.1'])
    await t.rejects(bootAs(version), {
      errorCode: { code: 'startup.schema_version_too_new', exit: 78 },
      message: /sluice 2\.1\.0 has opened the store, this is .*start the newer again/
    })

  await (await bootAs('2.2.0')).stop()
})
