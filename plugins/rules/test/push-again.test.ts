// `rule push` after a refusal: the rule is stored as failed, and holds its port until a second push or a removal.
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api, CommandCall } from '../../../kernel/cli/command.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { commands } from '../commands.ts'
import { type ErrorReply, inOrder, type RulesFixture, rulesFixture } from './fixture.ts'

t.test('a rule that its client refuses is stored as failed, and a second push replaces it', async t => {
  const { app, push } = await fixture(
    t,
    inOrder({ refuse: 'port_in_use', message: 'port 8080 is taken' }, 'accept')
  )

  const refused = await push({ listen: '8080' })
  const [stored] = (await app.call<RuleRecord[]>('GET', '/v1/rules')).body
  t.match(stored, { state: 'failed', state_reason: 'port_in_use' })
  t.match(refused, {
    errorCode: { code: 'port_in_use' },
    message: `; rule ${stored?.rule_id} is stored as failed and holds its port: fix the cause and push it again, or remove it`
  })

  const pushed = await push({ listen: '8080', target: ['10.0.0.2:90'] })
  t.match(pushed, { rule_id: stored?.rule_id, state: 'active', targets: [{ host: '10.0.0.2', port: 90 }] })
  t.equal((await app.call<RuleRecord[]>('GET', '/v1/rules')).body.length, 1)
})

t.test('a rule that is refused again stays failed, and the command reports it', async t => {
  const { app, push } = await fixture(t, () => ({ refuse: 'port_in_use' }))
  const first = await push({ listen: '8080' })
  t.match(await push({ listen: '8080' }), { message: String(Object(first).message) })
  t.match((await app.call('GET', '/v1/rules')).body, [{ state: 'failed' }])
})

t.test(
  'push does not replace a conflicting rule that is active, has other ports or another placer',
  async t => {
    const { app, push } = await fixture(t, inOrder('accept', { refuse: 'port_in_use' }, 'accept'))
    await push({ listen: '8080' })
    t.match(
      await push({ listen: '8080' }),
      { message: /^rule \w+ has tcp port 8080 of this client$/ },
      'active'
    )

    await push({ listen: '9000' })
    t.match(await push({ listen: '8999-9000' }), { message: /^rule \w+ has tcp port 9000/ }, 'other ports')
    const ann = await app.user('ann')
    t.match(
      await push({ listen: '9000', owner: 'ann' }),
      { message: /^rule \w+ has tcp port 9000/ },
      'another owner'
    )
    await app.call('PATCH', '/v1/users/ann', { role: 'superadmin' })
    t.match(
      await push({ listen: '9000' }, ann),
      { message: /^rule \w+ has tcp port 9000/ },
      'placed by another'
    )
  }
)

async function fixture(t: Test, react: NonNullable<Parameters<RulesFixture['connect']>[1]>['react']) {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', 'port-range'] })
  await app.connect(await app.enroll(), { capabilities: { 'rule.range': '2.0.0' }, ...(react && { react }) })
  const send =
    (headers?: Record<string, string>) =>
    async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
      const reply = await app.call<RuleRecord & ErrorReply>(method, path, body, headers)
      if (reply.status < 300) return reply.body
      const { code, message, details } = reply.body.error
      throw new Fault({ code, http: reply.status, exit: 5 }, message, { details })
    }
  const push = async (args: object, headers?: Record<string, string>): Promise<unknown> => {
    const request = send(headers)
    const api = { get: (path: string) => request('GET', path), send: request } as unknown as Api // as far as push uses it
    let printed: unknown
    const call = {
      args: { client: 'edge', target: ['10.0.0.1:80'], ...args },
      api,
      filled: () => [],
      print: { done: (_: string, value: object) => (printed = value) }
    } as unknown as CommandCall<never>
    const ended = await commands
      .find(({ name }) => name === 'rule push')
      ?.run(call)
      .catch((error: unknown) => error)
    return ended instanceof Error ? ended : printed
  }
  return { app, push }
}
