// Tests both halves of the plugin with the kit: a server and agents in this process.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../../../agent/plugin.ts'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, runAgent, testServer } from '../../../../kit/public.ts'
import { until } from '../../../../plugins/rules/test/fixture.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above
const { default: agentHalf } = (await import('../agent.ts')) as { default: AgentPlugin }

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'))).problems, [])
})

const target = { host: '10.0.0.1', port: 80 }

async function openApp(t: Test) {
  const server = await testServer(t, { plugins: [plugin] })
  const edge = await runAgent(t, server, 'edge', { plugins: [agentHalf] })
  const relay = await runAgent(t, server, 'relay', {
    plugins: [agentHalf],
    sections: { 'relay-label': { deny_labels: ['black'] } }
  })
  const via = (label: string) => ({ relay: { client_id: relay.clientId, label } })
  const push = (targets: readonly object[]) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', { client: 'edge', listen_port: 8080, targets })
  const read = async (id: string) => (await server.call<{ state: string }>('GET', `/v1/rules/${id}`)).body
  const notices = () => relay.ask<object[]>('relay-notices')
  return { server, edge, relay, via, push, read, notices }
}

t.test('each label reaches the agent with its target, and the relay, also after restarts', async t => {
  const { server, edge, relay, via, push, notices } = await openApp(t)
  const green = { ...target, priority: 0, ...via('green') }

  const { status, body } = await push([{ ...target, priority: 5, ...via('Blue') }, green])

  t.match([status, body], [201, { state: 'active', targets: [via('blue'), green] }])
  const { rule_id: rule } = body
  const shown = [
    { rule, host: target.host, label: 'green' },
    { rule, host: target.host, label: 'blue' }
  ]
  t.same(await edge.ask('relay-labels'), shown)
  t.match(await notices(), [{ rule, labels: 'blue, green' }])
  await edge.restart()
  await relay.restart()
  t.same(await edge.ask('relay-labels'), shown)
  t.match(await notices(), [{ rule, labels: 'blue, green' }])

  await server.restart()
  await edge.connected()
  await relay.connected()
  const patched = await server.call('PATCH', `/v1/rules/${rule}`, { targets: [green] })
  t.match(patched, { status: 200, body: { targets: [green] } })
  t.same(await edge.ask('relay-labels'), shown.slice(0, 1))
  t.match(await notices(), [{ rule, labels: 'green' }])
})

t.test('the relay loses its notice with the last label, and with the rule', async t => {
  const { server, via, push, notices } = await openApp(t)
  const { rule_id: first } = (await push([{ ...target, ...via('blue') }])).body
  t.match(await server.call('PATCH', `/v1/rules/${first}`, { targets: [target] }), { status: 200 })
  await until(notices, rows => rows.length === 0)

  const again = await server.call('PATCH', `/v1/rules/${first}`, { targets: [{ ...target, ...via('red') }] })
  t.match([again.status, await notices()], [200, [{ labels: 'red' }]])
  t.equal((await server.call('DELETE', `/v1/rules/${first}`)).status, 204)
  await server.clock.advance(1000)
  await until(notices, rows => rows.length === 0)
})

t.test('a refusal of the relay refuses the rule, and its changes', async t => {
  const { server, edge, relay, via, push, read, notices } = await openApp(t)
  const refused = {
    status: 422,
    body: {
      error: { code: 'activation_failed', details: { reason: 'denied_by_relay', client_id: relay.clientId } }
    }
  }

  t.match(await push([{ ...target, ...via('black') }]), refused)
  t.equal(edge.engine.rules.size, 0, 'the client never saw the rule')
  const [failed] = (await server.call<{ rule_id: string }[]>('GET', '/v1/rules')).body
  await server.call('DELETE', `/v1/rules/${failed?.rule_id}`)

  const { rule_id: id } = (await push([{ ...target, ...via('blue') }])).body
  t.match(
    await server.call('PATCH', `/v1/rules/${id}`, { targets: [{ ...target, ...via('black') }] }),
    refused
  )
  t.match(await read(id), { state: 'active', change_pending: false, targets: [via('blue')] })
  await until(notices, ([row]) => JSON.stringify(row).includes('blue'))
})

t.test('two targets with one relay and label, and a reserved label, are refused by name', async t => {
  const { via, push } = await openApp(t)

  t.match(
    await push([
      { ...target, ...via('blue') },
      { ...target, ...via('BLUE') }
    ]),
    {
      status: 400,
      body: { error: { code: 'validation.targets_duplicate', details: { field: '/targets/1' } } }
    }
  )
  t.match(await push([target, { ...target, ...via('none') }]), {
    status: 400,
    body: { error: { code: 'validation.relay_label', details: { field: '/targets/1/relay/label' } } }
  })
  t.match(await push([{ ...target, relay: { client_id: 'nobody', label: 'blue' } }]), {
    status: 404,
    body: { error: { code: 'client_not_found', details: { client_id: 'nobody' } } }
  })
})
