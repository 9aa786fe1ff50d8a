import t from 'tap'
import { Type } from 'typebox'
import { plugins as builtin } from '../../../config/plugins.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'

interface Row {
  readonly name: string
  readonly from: string
  readonly may: readonly string[]
  readonly has_agent: boolean
  readonly settings: readonly { readonly key: string; readonly value: unknown; readonly hidden: boolean }[]
}

const acme = definePlugin({
  name: 'acme',
  version: '1.2.3',
  kernel: '^2.0.0',
  config: Type.Object({
    api_key: Type.String({ default: '' }),
    mode: Type.Union([Type.Literal('fast'), Type.Literal('slow')], { default: 'fast' }),
    secs: Type.Integer({ default: 5 }),
    hosts: Type.Array(Type.String(), { default: [] })
  })
})

t.test('plugins are listed with permissions and with settings without secrets', async t => {
  const sections = { acme: { api_key: 'hunter2', mode: 'slow', secs: 9, hosts: ['user:pass@db'] } }
  const { call } = await testServer(t, { plugins: [...Object.keys(builtin), acme], sections })

  const { body: rows, text } = await call<readonly Row[]>('GET', '/v1/plugins')

  t.match(
    rows.find(({ name }) => name === 'quota'),
    { from: 'built in', has_agent: true, may: ['answer requests'] }
  )
  const own = rows.find(({ name }) => name === 'acme')
  t.match(own, { from: 'external', has_agent: false, may: ['run any code as the user of the process'] })
  t.match(own?.settings, [
    { key: 'plugins.acme.api_key', value: null, hidden: true },
    { key: 'plugins.acme.mode', value: 'slow', hidden: false },
    { key: 'plugins.acme.secs', value: 9, hidden: false },
    { key: 'plugins.acme.hosts', value: null, hidden: true }
  ])
  t.notMatch(text, /hunter2|pass@db/)
})

t.test('no setting of a built-in plugin is a secret, because these settings are shown', async t => {
  const { call } = await testServer(t)

  const { body: rows, text } = await call<readonly Row[]>('GET', '/v1/plugins')

  const keys = rows.flatMap(({ settings }) => settings.map(({ key }) => key))
  t.same(
    keys.filter(key => /secret|password|token|credential/.test(key)),
    ['password_sign_in', 'credential_max_secs'] // a policy and a lifetime
  )
  t.notMatch(text, /operator-token-of-the-test-kit/)
})
