// Reads counters during traffic, by the HTTP stream and by commands.
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import { spawnChild } from '../support/child-process.ts'
import { start } from '../support/process.ts'
import { token } from '../support/test-cluster.ts'
import { openWorld } from './world.ts'

t.test(
  'the stream of a rule shows active connections, and zero after they end',
  { timeout: 240_000 },
  async t => {
    const world = await openWorld(t, 1)
    const [rule] = world.rules
    if (!rule) throw new Error('there is no rule')
    const url = `${world.origin}/v1/rules/${rule.id}/stats/stream?per_port=true`
    const curl = spawnChild('curl', [
      '--silent',
      '--no-buffer',
      '--header',
      `authorization: Bearer ${token}`,
      url
    ])
    t.teardown(() => curl.kill('SIGKILL'))
    const lines = createInterface({ input: curl.stdout })[Symbol.asyncIterator]()
    async function until(fits: (stats: RuleStats) => boolean): Promise<RuleStats> {
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error('the stream ended')
        if (!value.startsWith('data: ')) continue
        const stats = JSON.parse(value.slice('data: '.length)) as RuleStats // as the route's schema says
        if (fits(stats)) return stats
      }
    }
    t.match(await until(() => true), { active_connections: 0, per_port: [{ listen_port: rule.port }] })

    const sockets = [1, 2, 3].map(() => connect(rule.port, '127.0.0.1'))
    t.teardown(() => sockets.forEach(socket => void socket.destroy()))
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await until(stats => stats.active_connections === 3 && stats.per_port?.[0]?.active_connections === 3)
    for (const socket of sockets) socket.resetAndDestroy()
    t.match(await until(stats => stats.active_connections === 0), { connections_total: 3 })
  }
)

t.test('the commands watch a rule until SIGINT, draw its traffic and export it', async t => {
  const world = await openWorld(t, 2)
  const [rule] = world.rules
  if (!rule) throw new Error('there is no rule')
  const env = { SVC_SERVER: world.origin, SVC_TOKEN: token }
  const watching = start(t, ['rule', 'stats', rule.id, '--watch', '--output', 'json'], env)
  const stdout = watching.child.stdout
  if (!stdout) throw new Error('the command has no standard output')
  await once(stdout, 'data')

  await rule.route.transfer(rule.port, { in: 1000, out: 200_000 }, 'close')
  while (!watching.output().includes('"bytes_out": 200000')) await once(stdout, 'data')
  watching.signal('SIGINT')
  t.equal(await watching.exit, 0)

  const chart = await world.cli(['traffic', 'global', '--bucket', '1m'])
  t.match(chart.stdout, / 1\.0 kB +200 kB +█{32}\n/)
  const csv = await world.cli(['traffic', 'user', rule.owner, '--bucket', '1m', '--csv'])
  t.match(csv.stdout, /^ts,bytes_in,bytes_out\n\d{10},1004,200000\n$/)
})
