import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import {
  closestName,
  parseFile,
  readConfig,
  requirePrivateFile,
  throwProblems,
  validateConfig
} from '../../kernel/base/config.ts'

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
  const file = join(t.testdir({ 'server.toml': 'port = 1\nname = "file"\n' }), 'server.toml')
  const env = { SVC_PORT: '2', SVC_NAME: 'environment', SVC_HOSTS: 'a,b', SVC_IS_ON: 'true' }

  const table = readConfig(schema, { file, env, flags: { name: 'flag' } })

  t.same(validateConfig(schema, table, '').value, {
    port: 2,
    name: 'flag',
    hosts: ['a', 'b'],
    is_on: true,
    level: 'info'
  })
  t.same(validateConfig(schema, readConfig(schema, { file, env: {}, flags: {} }), '').value, {
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

t.test('a file that is missing or not TOML is named', async t => {
  const dir = t.testdir({ 'bad.toml': 'port = = 1' })

  t.throws(() => parseFile(join(dir, 'bad.toml')), { errorCode: { exit: 78 }, message: /bad\.toml/ })
  t.throws(() => parseFile(join(dir, 'none.toml')), { errorCode: { exit: 78 }, message: /none\.toml/ })
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

t.test('the nearest name differs by a typing error only', async t => {
  const names = ['operator_http_listen', 'control_listen', 'log_level']

  t.equal(closestName('contol_listen', names), 'control_listen')
  t.equal(closestName('loglevel', names), 'log_level')
  t.equal(closestName('colour', names), null)
})
