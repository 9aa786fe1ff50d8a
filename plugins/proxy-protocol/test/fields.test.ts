// The rule fields in both halves: a server, and an agent on a fake engine.
import t, { type Test } from 'tap'
import { runAgent, testAgent, testServer } from '../../../kit/public.ts'
import { normalizePrefix } from '../../rules/fields/normalize-prefix.ts'

const target = { host: '10.0.0.1', port: 80 }

async function openApp(t: Test) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', {})
  let port = 8080
  const push = (fields: object, client = 'edge') =>
    server.call<Record<string, unknown> & { rule_id: string }>('POST', '/v1/rules', {
      client,
      listen_port: port++,
      targets: [target],
      ...fields
    })
  const patch = (id: string, body: object) =>
    server.call<Record<string, unknown>>('PATCH', `/v1/rules/${id}`, body)
  const planned = () => [...agent.engine.rules.values()].at(-1)
  return { server, agent, push, patch, planned }
}

t.test('prefixes are stored in one normal form', async t => {
  for (const [given, normal] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1/32', '192.0.2.1'],
    ['192.0.2.77/24', '192.0.2.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8:1:2::3/48', '2001:db8:1::/48'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1/120', '192.0.2.0/24'],
    ['::/0', '::/0'],
    ...['192.0.2.0/33', '2001:db8::/129', '::ffff:192.0.2.1/90', '192.0.2', '192.0.2.1/', '1.1.1.1/8/8'].map(
      text => [text, null] as const
    ),
    ...['fe80::1%eth0', 'proxy.example', '', '/8', '0x7f.0.0.1', '192.0.2.1/-1'].map(
      text => [text, null] as const
    )
  ] as const)
    t.equal(normalizePrefix(given), normal, given)
})

t.test('fields are normalized, shown, merged and removed, and the engine gets them', async t => {
  const { push, patch, planned } = await openApp(t)

  const { body } = await push({ proxy_in: ['192.0.2.9/24', '10.0.0.1', '10.0.0.1'], proxy_out: 1 })
  t.match(body, {
    state: 'active',
    proxy_in: ['10.0.0.1', '192.0.2.0/24'],
    proxy_out: 1,
    proxy_out_udp: 'first'
  })
  t.match(planned(), {
    firstRead: {
      form: 'proxy_protocol',
      from: ['10.0.0.1', '192.0.2.0/24'],
      refusals: { header: 'proxy_header', untrusted: 'proxy_untrusted' }
    },
    preamble: { datagrams: 'first' }
  })
  t.equal(String(planned()?.preamble?.probe), 'PROXY UNKNOWN\r\n')

  t.match(await patch(body.rule_id, { proxy_out: 2 }), {
    status: 200,
    body: { proxy_out: 2, proxy_in: ['10.0.0.1', '192.0.2.0/24'], state: 'active' }
  })
  const probe = Buffer.from(planned()?.preamble?.probe ?? [])
  t.equal(probe.toString('hex'), '0d0a0d0a000d0a515549540a20000000')
  t.match(await patch(body.rule_id, { proxy_in: null, proxy_out: null }), {
    status: 200,
    body: { proxy_in: null, proxy_out: null, state: 'active' }
  })
  t.match(planned(), { firstRead: null, preamble: null })
})

t.test('a UDP rule sends the header in the first datagram of a flow, or in each', async t => {
  const { push, planned } = await openApp(t)

  await push({ protocol: 'udp', proxy_out: 2, proxy_out_udp: 'first' })
  t.match(planned(), { preamble: { datagrams: 'first' } })
  t.match(await push({ protocol: 'udp', proxy_out: 2, proxy_out_udp: 'each' }), {
    body: { proxy_out_udp: 'each', state: 'active' }
  })
  t.match(planned(), { preamble: { datagrams: 'each' } })
})

t.test('an invalid value is refused with the name of the field, and nothing changes', async t => {
  const { push, patch, server } = await openApp(t)
  const { body: rule } = await push({ proxy_out: 2 })
  const many = Array.from({ length: 65 }, (_, at) => `10.0.0.${at}`)

  for (const [given, code, field] of [
    [{ proxy_out: 1, protocol: 'udp' }, 'validation.proxy_out', '/proxy_out'],
    [{ proxy_out: 3 }, 'validation.proxy_out', '/proxy_out'],
    [{ proxy_out: 0 }, 'validation.proxy_out', '/proxy_out'],
    [{ proxy_out: '2' }, 'validation.proxy_out', '/proxy_out'],
    [{ proxy_out: 2, proxy_out_udp: 'each' }, 'validation.proxy_out', '/proxy_out_udp'],
    [{ proxy_out_udp: 'each', protocol: 'udp' }, 'validation.proxy_out', '/proxy_out_udp'],
    [{ proxy_out: 2, proxy_out_udp: 'last', protocol: 'udp' }, 'validation.proxy_out', '/proxy_out_udp'],
    [{ proxy_in: [] }, 'validation.proxy_in', '/proxy_in'],
    [{ proxy_in: many }, 'validation.proxy_in', '/proxy_in'],
    [{ proxy_in: '10.0.0.1' }, 'validation.proxy_in', '/proxy_in'],
    [{ proxy_in: ['10.0.0.1', 'proxy.example'] }, 'validation.proxy_in', '/proxy_in/1'],
    [{ proxy_in: ['10.0.0.0/33'] }, 'validation.proxy_in', '/proxy_in/0']
  ] as const) {
    const shown = JSON.stringify(given)
    t.match(
      await push(given),
      { status: 400, body: { error: { code, details: { field } } } } as object,
      shown
    )
  }
  t.match(await patch(rule.rule_id, { proxy_out: 3 }), { status: 400 })
  t.match(await server.call('GET', `/v1/rules/${rule.rule_id}`), { body: { proxy_out: 2, state: 'active' } })
})

t.test('an agent without the capability does not receive rules with the fields', async t => {
  const { server, push } = await openApp(t)
  await testAgent(t, server, 'old', { capabilities: { 'rule.proxy': '1.0.0' } })

  for (const fields of [{ proxy_out: 2 }, { proxy_in: ['10.0.0.1'] }])
    t.match(await push(fields, 'old'), {
      status: 422,
      body: { error: { code: 'rule_field_unsupported_by_client' } }
    })
})

t.test('export and apply carry the fields', async t => {
  const { push, server } = await openApp(t)
  const fields = { protocol: 'udp', proxy_out: 2, proxy_out_udp: 'each', proxy_in: ['10.0.0.1'] }
  const { body } = await push(fields)

  const { body: record } = await server.call<Record<string, unknown>>('GET', `/v1/rules/${body.rule_id}`)
  const definition = { targets: [target], listen_port: record['listen_port'], client: 'edge', ...fields }
  t.match(await server.call('PUT', `/v1/rules/${body.rule_id}/definition`, definition), {
    status: 200,
    body: fields
  })
})
