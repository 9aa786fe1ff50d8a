// The audit command shows, exports and follows the audit log.
import { once } from 'node:events'
import t from 'tap'
import type { EntryRow } from '../../plugins/audit/schema.ts'
import { freePort } from '../support/ports.ts'
import { type Process, start } from '../support/process.ts'
import { startAgent, testCluster, token } from '../support/test-cluster.ts'

const waitForOutput = async (process: Process, text: string): Promise<void> => {
  while (!process.output().includes(text)) await once(process.child.stdout ?? process.child, 'data')
}

const cluster = await testCluster(t)

t.test('the audit command shows, exports and follows entries', async t => {
  await cluster.json('client', 'enroll', 'berlin')
  await cluster.json('client', 'enroll', 'oslo')
  await fetch(`${cluster.origin}/v1/audit`, { headers: { authorization: 'Bearer wrong' } })

  const table = await cluster.cli(['audit', '--since', '1h'])
  t.match(table.stdout, /^TIMESTAMP +OUTCOME +STATUS +ACTOR +ACTION/)
  t.match(table.stdout, /allow +201 +_operator +enrollment\.create/)
  t.match(await cluster.json<EntryRow[]>('audit', '--outcome', 'deny'), [{ status: 503, count: 1 }])
  t.equal((await cluster.json<EntryRow[]>('audit', '--limit', '2')).length, 2)

  const exported = await cluster.cli(['audit', '--jsonl'])
  const rows = exported.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as EntryRow)
  t.same(
    rows.map(({ action }) => action),
    ['audit.list', 'enrollment.create', 'enrollment.create']
  )

  const refused = await cluster.cli(['audit', '--since', 'yesterday'])
  t.equal(refused.code, 3)
  t.match(refused.stderr, /^invalid_timestamp: /)
})

t.test(
  '--follow shows the newest entries, then new ones as they arrive, until it is interrupted',
  async t => {
    const following = start(t, ['audit', '--follow', '--jsonl'], {
      SVC_SERVER: cluster.origin,
      SVC_TOKEN: token
    })
    await waitForOutput(following, 'audit.list')
    // A change: repeated denials within a minute are folded into one entry.
    await cluster.json('user', 'create', 'zoe')
    await waitForOutput(following, 'user.create')
    following.signal('SIGINT')

    t.equal(await following.exit, 0)
    const lines = following.output().trim().split('\n')
    t.same(
      lines.map(line => (JSON.parse(line) as EntryRow).action),
      ['enrollment.create', 'enrollment.create', 'audit.list', 'user.create'],
      'each once, the newest last'
    )
  }
)

t.test('the audit log and the logs of server and agent contain the request id', async t => {
  const { agent } = await startAgent(t, cluster, 'berlin')
  const body = JSON.stringify({
    client: 'berlin',
    listen_port: await freePort(),
    targets: [{ host: '127.0.0.1', port: 9 }]
  })
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'x-request-id': 'asked-by-ann'
  }

  const reply = await fetch(`${cluster.origin}/v1/rules`, { method: 'POST', headers, body })

  t.equal(reply.status, 201)
  t.equal((await agent.until('rule.opened'))['request_id'], 'asked-by-ann')
  t.equal((await cluster.server.until('rule.active'))['request_id'], 'asked-by-ann')
  t.match((await cluster.json<EntryRow[]>('audit', '--limit', '1'))[0], {
    action: 'rule.create',
    status: 201,
    request_id: 'asked-by-ann'
  })
})
