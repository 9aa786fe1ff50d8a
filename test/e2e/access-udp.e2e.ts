// Revoking access ends UDP flows: a live flow passes no further datagram in either direction.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

async function openSocket(t: Test): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket
}

t.test('revoking a grant ends its UDP flows on the agent and closes the port', async t => {
  const cluster = await testCluster(t)
  const { clientId } = await startAgent(t, cluster, 'paris')
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  await cluster.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const { token: bearer } = await cluster.call<{ token: string }>('POST', '/v1/users/ann/credentials', {})
  const listen_port = await freePort()
  const { grant_id } = await cluster.call<{ grant_id: string }>('POST', '/v1/grants', {
    user_id: 'ann',
    client_id: clientId,
    listen_port_start: listen_port,
    listen_port_end: listen_port,
    protocols: ['udp']
  })
  const target = await openSocket(t)
  const caller = await openSocket(t)
  const rule = {
    client: clientId,
    protocol: 'udp',
    listen_port,
    targets: [{ host: '127.0.0.1', port: target.address().port }]
  }
  const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', rule, bearer)
  caller.send('hello', listen_port, '127.0.0.1')
  const [, { port, address }] = (await once(target, 'message')) as [Buffer, { port: number; address: string }]
  target.send('back', port, address)
  await once(caller, 'message')

  const revoked = await cluster.call<{ removed_rule_ids: string[] }>('DELETE', `/v1/grants/${grant_id}`)
  t.same(revoked.removed_rule_ids, [rule_id])

  // A connected socket gets an error once the port is closed. The flow ends before that.
  const probe = createSocket('udp4')
  t.teardown(() => void probe.close())
  probe.connect(listen_port, '127.0.0.1')
  await once(probe, 'connect')
  const closed = new Promise(resolve => probe.once('error', resolve))
  const probing = setInterval(() => probe.send('anybody?'), 20)
  t.teardown(() => clearInterval(probing))
  await closed
  clearInterval(probing)

  caller.on('message', () => t.fail('the flow is still open'))
  target.send('still there?', port, address)
  caller.send('still there?', listen_port, '127.0.0.1')
  const marker = await openSocket(t)
  marker.send('marker', target.address().port, '127.0.0.1') // sent last: anything else that gets through arrives first
  const [text] = (await once(target, 'message')) as [Buffer]
  t.equal(String(text), 'marker', 'nothing got through')
})
