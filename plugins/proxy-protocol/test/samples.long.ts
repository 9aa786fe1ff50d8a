// Runs the files of nginx and HAProxy from the README, in front of and behind a real agent, at addresses of this host.
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openTarget, until } from '../../../test/engine/engine-fixture.ts'
import { spawnChild } from '../../../test/support/child-process.ts'
import { freePort, isFree } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { skipReason } from './proxies.ts'

const caller = '127.0.0.9'
const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const samples = new Map(
  [...readme.matchAll(/^```(?:nginx|haproxy) (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [
    name,
    text
  ])
)

/** Ports of 127.0.0.1 that replace the addresses in samples. */
type Places = Readonly<Record<string, number>>

/** Starts the program of a sample, and waits for the port of `listen`. Returns a reader of its log. */
async function start(
  t: Test,
  dir: string,
  name: string,
  listen: string,
  places: Places
): Promise<() => string> {
  mkdirSync(dir)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const text = (samples.get(name) ?? '')
    .replaceAll(/[\d.]+:\d+/g, address => `127.0.0.1:${places[address]}`)
    .replaceAll(/10\.0\.0\.\d/g, '127.0.0.1')
    .replace('/var/log/nginx/', `${dir}/`)
    .replace('http {', `http {\n${temporary.map(name => `${name}_temp_path ${dir}/${name};`).join('\n')}`)
  const file = join(dir, 'config')
  const log = join(dir, 'access.log')
  writeFileSync(file, text)
  writeFileSync(log, '')

  const nginx = ['-c', file, '-e', 'stderr', '-g', `daemon off; pid ${dir}/pid;`]
  const isNginx = name.endsWith('.conf')
  const program = isNginx ? spawnChild('nginx', nginx) : spawnChild('haproxy', ['-db', '-f', file])
  let output = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', chunk => (output += chunk))
  t.teardown(async () => {
    const ended = once(program, 'exit')
    if (program.kill('SIGTERM')) await ended
  })
  while (await isFree(places[listen] ?? 0)) {
    if (program.exitCode !== null) throw new Error(`${name}: ${output}`)
    await setTimeout(50)
  }
  return () => output + readFileSync(log, 'utf8')
}

const receivers = { 'receiver.conf': '10.0.0.5:8080', 'receiver.cfg': '10.0.0.7:6432' }

for (const [receiver, address] of Object.entries(receivers))
  t.test(`${receiver} logs the caller, behind each sender`, { skip: skipReason }, async t => {
    const cluster = await testCluster(t)
    await startAgent(t, cluster, 'edge')
    const port = await freePort()
    const listen_port = await freePort()
    const pgbouncer = await openTarget(t, socket => socket.once('data', () => socket.end('hello')))
    const places = { [address]: port, '127.0.0.1:6433': pgbouncer }
    const logged = await start(t, join(cluster.dir, receiver), receiver, address, places)
    await cluster.call('POST', '/v1/rules', {
      client: 'edge',
      listen_port,
      targets: [{ host: '127.0.0.1', port }],
      proxy_in: ['127.0.0.1'],
      proxy_out: 2
    })

    for (const [before, sender] of ['sender.conf', 'sender.cfg'].entries()) {
      const from = await freePort()
      const places = { '10.0.0.1:443': from, '10.0.0.2:443': listen_port }
      await start(t, join(cluster.dir, sender), sender, '10.0.0.1:443', places)
      const socket = connect({ port: from, host: '127.0.0.1', localAddress: caller })
      socket.end('GET / HTTP/1.0\r\n\r\n')
      await socket.toArray()
      await until(() => [...logged().matchAll(/^127\.0\.0\.9[ :]/gm)].length > before)
    }
  })
