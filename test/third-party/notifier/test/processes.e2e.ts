// Real processes: notes survive the end of the agent and of the server.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../../../plugins/rules/test/fixture.ts'
import { startAgent, testCluster } from '../../../support/test-cluster.ts'
import { openReceiver, status } from './receiver.ts'

const folder = join(import.meta.dirname, '..')
const secret = '/hidden-part-of-the-url'

t.test('notes of an agent and of a server that are killed arrive once', async t => {
  const receiver = await openReceiver(t)
  const config = (origin: string): string =>
    `[plugins."${folder}"]\norigins = ["${origin}"]\noffline_secs = 1\n`
  const cluster = await testCluster(t, {}, config(receiver.origin))
  const choose = ['notifier', 'choose', '--config', cluster.configFile, '--output', 'json']
  const state = () => cluster.call<{ last_result: string }>('GET', '/v1/notifier')
  const settled = (result: string) => until(state, ({ last_result }) => last_result === result)
  const test = () => cluster.call('POST', '/v1/notifier/test')

  const chosen = await cluster.cli([...choose, '--url', 'client', 'rule'], `${receiver.origin}${secret}\n`)
  t.match(chosen, { code: 0, stderr: '' })
  t.match(JSON.parse(chosen.stdout), { kinds: ['client', 'rule'], waiting: 0 })

  const running = await startAgent(t, cluster, 'paris')
  receiver.answerNext(secret, status(503, { 'retry-after': '12' }))
  await test()
  await settled('status_503')
  cluster.server.signal('SIGKILL')
  await cluster.server.exit
  const output = cluster.server.output()
  await cluster.restart()
  const [refused, delivered] = [await receiver.note(1), await receiver.note(2)]
  t.match(delivered, { event: 'test', path: secret, note_id: refused.note_id })
  await settled('delivered')

  running.agent.signal('SIGKILL')
  t.match(await receiver.note(3), { event: 'client.offline', client_id: running.clientId })
  running.restart()
  t.match(await receiver.note(4), { event: 'client.online', client_id: running.clientId })

  cluster.configure(config('https://hooks.example'))
  cluster.server.signal('SIGHUP')
  await cluster.server.until('server.reloaded')
  await test()
  await settled('origin_not_allowed')
  t.equal(receiver.notes.length, 4, 'each note was delivered once')

  t.match(JSON.parse((await cluster.cli(choose)).stdout), { kinds: [] })

  const files = readdirSync(join(cluster.dir, 'server'), { withFileTypes: true }).filter(file =>
    file.isFile()
  )
  const stored = files.map(({ name }) => readFileSync(join(cluster.dir, 'server', name), 'latin1'))
  for (const text of [output, cluster.server.output(), ...stored]) t.notMatch(text, secret)
})
