import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import { ListenAddress, throwProblems, validateConfig } from '../../kernel/base/config.ts'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { closestName } from '../../kernel/base/suggestion.ts'
import { readConfigFile, readKeys } from '../../kernel/platform/config-file.ts'
import { exactValue } from '../../kernel/platform/exact-value.ts'

const schema = Type.Object({
  port: Type.Integer({ default: 7080, minimum: 1 }),
  hosts: Type.Array(Type.String(), { default: [] }),
  is_on: Type.Boolean({ default: false }),
  name: Type.Optional(Type.String()),
  level: Type.Union([Type.Literal('info'), Type.Literal('warn')], { default: 'info' })
})

t.test('an invalid choice is reported with all choices and the path as in the file', async t => {
  const table = Type.Object({
    mode: Type.Optional(Type.Enum(['slow', 'fast'])),
    paths: Type.Record(Type.String(), Type.Object({ size: Type.Integer() }), { default: {} })
  })
  t.same(
    validateConfig(table, { mode: 'loud', paths: { './a~b': { size: 'x' }, plain: { size: 1.5 } } }, '')
      .problems,
    [
      'mode must be one of slow, fast',
      'paths."./a~b".size must be integer',
      'paths.plain.size must be integer'
    ]
  )
})

t.test('flags take precedence over the environment, the file and defaults, in this order', async t => {
  const file = readConfigFile(join(t.testdir({ 'server.toml': 'port = 1\nname = "file"\n' }), 'server.toml'))
  const env = { SVC_PORT: '2', SVC_NAME: 'environment', SVC_HOSTS: 'a,b', SVC_IS_ON: 'true' }

  const { table } = readKeys(schema, { file, env, flags: { name: 'flag' } })
  const { table: ofFile } = readKeys(schema, { file, env: {}, flags: {} })

  t.same(validateConfig(schema, table, '').value, {
    port: 2,
    name: 'flag',
    hosts: ['a', 'b'],
    is_on: true,
    level: 'info'
  })
  t.same(validateConfig(schema, ofFile, '').value, {
    port: 1,
    name: 'file',
    hosts: [],
    is_on: false,
    level: 'info'
  })
})

t.test('all problems are reported, and a misspelt key with the nearest name', async t => {
  const { problems } = validateConfig(
    schema,
    { prot: 1, port: 0, is_on: 'no', level: 'loud', wholly_else: 1 },
    'plugins.x'
  )

  t.equal(problems.length, 5)
  t.match(problems.join('\n'), /plugins\.x\.level must be one of info, warn/)
  t.match(problems.join('\n'), /unknown key plugins\.x\.prot; did you mean port\?/)
  t.match(problems.join('\n'), /unknown key plugins\.x\.wholly_else(\n|$)/)
  t.match(problems.join('\n'), /plugins\.x\.port must be >= 1/)
  t.match(problems.join('\n'), /plugins\.x\.is_on must be boolean/)
  t.throws(() => throwProblems(problems), {
    errorCode: { code: 'startup.config_invalid', exit: 78 },
    message: /port/
  })
})

t.test('many problems hide none: unknown keys and wrong values are all reported', async t => {
  const keys = Array.from({ length: 100 }, (_, at) => `key_${at}`)
  const inner = Type.Object({ size: Type.Integer() }, { additionalProperties: false })
  const table = Type.Object({
    ...Object.fromEntries(keys.map(key => [key, Type.Integer()])),
    inner: Type.Optional(inner)
  })
  const unknown = Object.fromEntries(keys.map(key => [`an_${key}`, 1]))
  const wrong = Object.fromEntries(keys.map(key => [key, 'x']))

  t.equal(validateConfig(Type.Object({}), unknown, '').problems.length, 100)
  t.equal(validateConfig(table, { ...wrong, ...unknown }, '').problems.length, 200)
  t.same(validateConfig(Type.Object({ inner }), { inner: { size: 1, siez: 2 } }, 'plugins.x').problems, [
    'unknown key plugins.x.inner.siez'
  ])
  t.same(validateConfig(table, 5, 'plugins.x').problems, ['plugins.x must be object'])
})

t.test(
  'numbers are decimal digits and booleans are true or false; other text is refused, not coerced',
  async t => {
    const integer = Type.Integer()
    const table: readonly (readonly [string, unknown])[] = [
      ['0', 0],
      ['-5', -5],
      ['9007199254740991', 9007199254740991],
      ['9007199254740993', '9007199254740993'], // would be rounded
      ...['', ' ', '1.9', '1e3', '0x10', '007', '+1', 'true', '1 ', '١'].map(text => [text, text] as const)
    ]
    for (const [text, value] of table) t.equal(exactValue(integer, text), value, JSON.stringify(text))
    for (const text of ['1', '0', 'TRUE', 'yes', '']) t.equal(exactValue(Type.Boolean(), text), text)
    t.equal(exactValue(Type.Boolean(), 'true'), true)
    t.equal(exactValue(Type.Boolean(), 'false'), false)
  }
)

t.test('an empty variable is unset', async t => {
  const file = readConfigFile(join(t.testdir({ 'server.toml': 'hosts = ["file"]' }), 'server.toml'))

  const { table } = readKeys(schema, { file, env: { SVC_PORT: '', SVC_HOSTS: '', SVC_NAME: '' }, flags: {} })

  t.same(table, { hosts: ['file'] })
})

t.test('a refusal names the key and its source: file and line, variable or flag', async t => {
  const text = [
    'prot = 1',
    'hosts = [',
    '  1',
    ']',
    '[plugins.x]',
    '"odd key" = 1',
    'inner.size = "y"',
    '[plugins."./a.b"]'
  ].join('\n')
  const path = join(t.testdir({ 'server.toml': text }), 'server.toml')
  const file = readConfigFile(path)
  const { table, placeOf } = readKeys(schema, { file, env: { SVC_PORT: '1.9' }, flags: { name: 5 } })
  const { plugins: _, ...keys } = table
  const section = Type.Object({ inner: Type.Object({ size: Type.Integer() }) })

  t.same(validateConfig(schema, keys, '', placeOf).problems.sort(), [
    '--name: name must be string',
    `${path}:1: unknown key prot; did you mean port?`,
    `${path}:2: hosts.0 must be string`,
    'SVC_PORT: port must be integer'
  ])
  t.same(
    validateConfig(section, { 'odd key': 1, inner: { size: 'y' } }, 'plugins.x', placeOf).problems.sort(),
    [`${path}:6: unknown key plugins.x."odd key"`, `${path}:7: plugins.x.inner.size must be integer`]
  )
  t.equal(placeOf('plugins."./a.b"'), `${path}:8`)
})

t.test('an address to listen on has a port from 0 to 65535, without leading zeros', async t => {
  const keys = Type.Object({ listen: ListenAddress({}) })
  const isAccepted = (listen: string): boolean => validateConfig(keys, { listen }, '').problems.length === 0

  for (const address of ['127.0.0.1:0', '[::1]:65535', 'host.example:7080'])
    t.ok(isAccepted(address), address)
  for (const address of ['127.0.0.1:65536', '::1:80', 'host', 'host:', 'host:080', ':80', 'a b:1'])
    t.notOk(isAccepted(address), address)
})

t.test('a file that is missing or not TOML is named', async t => {
  const dir = t.testdir({ 'bad.toml': 'port = = 1' })

  t.throws(() => readConfigFile(join(dir, 'bad.toml')), { errorCode: { exit: 78 }, message: /bad\.toml/ })
  t.throws(() => readConfigFile(join(dir, 'none.toml')), { errorCode: { exit: 78 }, message: /none\.toml/ })
})

t.test('a file that is not UTF-8 is refused, and nothing is replaced', async t => {
  const file = join(t.testdir(), 'sluice.toml')
  writeFileSync(file, Buffer.from('name = "caf\xe9"', 'latin1'))

  t.throws(() => readConfigFile(file), {
    errorCode: { exit: 78 },
    message: /sluice\.toml: it is not UTF-8; save it/
  })
  writeFileSync(file, 'name = "café"')
  t.match(readConfigFile(file), { table: { name: 'café' } })
})

t.test('a file with a secret that other users may read is refused, with a remedy', async t => {
  const file = join(t.testdir(), 'key')
  writeFileSync(file, 'secret')

  chmodSync(file, 0o640)
  t.throws(() => requirePrivateFile(file, 'a key'), {
    errorCode: { code: 'startup.insecure_permissions' },
    message: /chmod 600/
  })
  chmodSync(file, 0o600)
  t.doesNotThrow(() => requirePrivateFile(file, 'a key'))
})

t.test('a suggested name differs only by a typo', async t => {
  const names = ['operator_http_listen', 'control_listen', 'log_level']

  t.equal(closestName('contol_listen', names), 'control_listen')
  t.equal(closestName('loglevel', names), 'log_level')
  t.equal(closestName('colour', names), null)
})
