// `sluice top` in a terminal, over a real server and a real agent.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startEchoServer } from '../../../test/support/live-stream.ts'
import { freePort } from '../../../test/support/ports.ts'
import { sluice } from '../../../test/support/process.ts'
import { startAgent, testCluster, token } from '../../../test/support/test-cluster.ts'
import { noTerminal, openTerminal } from './terminal.ts'

/** Connects from addresses 127.0.1.1, 127.0.1.2, ...; each sends a byte more than the previous one. */
async function openCallers(t: Test, port: number, count: number): Promise<readonly Socket[]> {
  const callers = Array.from(
    { length: count },
    (_, at) => connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${at + 1}` }).on('error', () => {}) // reset
  )
  t.teardown(() => callers.map(caller => caller.destroy()))
  await Promise.all(
    callers.map(async (caller, at) => {
      await once(caller, 'connect')
      caller.write('x'.repeat(1000 * (at + 1)))
      await once(caller, 'data')
    })
  )
  return callers
}

/** Resolves also after a reset. */
const closeOf = (caller: Socket | undefined): Promise<void> =>
  new Promise(resolve => caller?.once('close', () => resolve()))

const cluster = await testCluster(t)
await startAgent(t, cluster, 'paris')
await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
for (const user_id of ['ann', 'bob'])
  await cluster.call('POST', '/v1/users', { user_id, display_name: user_id, role: 'user' })
const { token: ann } = await cluster.call<{ token: string }>('POST', '/v1/users/ann/credentials', {})
const ports = { ann: await freePort(), bob: await freePort() }
const targets = [{ host: '127.0.0.1', port: await startEchoServer(t) }]
for (const owner of ['ann', 'bob'] as const)
  await cluster.call('POST', '/v1/rules', { client: 'paris', listen_port: ports[owner], owner, targets })

const open = (t: Test, env = {}) =>
  openTerminal(t, { args: ['top'], env: { SVC_SERVER: cluster.origin, SVC_TOKEN: token, ...env } })

const rowsOf = (screen: string): string[] =>
  screen.split('\n').filter(line => /^[ >]127\.0\.1\.\d/.test(line))
const selected = (screen: string): string => /^>(\S+):/m.exec(screen)?.[1] ?? ''

t.test('without a terminal, --once prints a frame and the error names it', async t => {
  await openCallers(t, ports.bob, 3)
  const env = { SVC_SERVER: cluster.origin, SVC_TOKEN: token }

  t.match(await sluice(['top'], env), { code: 2, stderr: /needs a terminal; --once prints one frame/ })
  const { code, stdout } = await sluice(['top', '--once', '--owner', 'bob', '--sort', 'source'], env)
  t.equal(code, 0)
  t.equal(rowsOf(stdout).length, 3)
  const json = JSON.parse((await sluice(['top', '--once', '--output', 'json'], env)).stdout)
  t.match(json, { matched: 3, connections: [{ owner: 'bob' }] })
  t.match(await sluice(['top', '--once'], { ...env, SVC_TOKEN: 'x' }), { code: 4 })
  t.match(await sluice(['top', '--once'], { ...env, SVC_SERVER: 'http://127.0.0.1:9' }), { code: 69 })
})

t.test('rows appear, are sorted, filtered, paged and closed', { skip: noTerminal ?? false }, async t => {
  const callers = await openCallers(t, ports.bob, 30)
  const top = await open(t)

  const first = await top.until(screen => rowsOf(screen).length === 18 && screen.includes('30 open'))
  t.match(first.split('\n').slice(0, 5), [
    /^sluice top {2}http:\/\/127\.0\.0\.1:\d+ {2}live/,
    /^30 open {2}in .*\/s {2}out .*\/s {2}delivered 465 kB in, 465 kB out$/,
    'clients: all 1 answer',
    'filter none  sort out/s',
    /^ SOURCE +TARGET +OWNER +IN\/S +OUT\/S +AGE IDLE/
  ])
  t.match(first, /page 1 of 2$/)

  top.type('s')
  t.equal(selected(await top.until(screen => selected(screen) === '127.0.1.1')), '127.0.1.1')
  top.type('s')
  await top.until(screen => selected(screen) === '127.0.1.30')
  top.type('b')
  await top.until(screen => selected(screen) === '127.0.1.30' && screen.includes('sort bytes'))
  top.type(' ')
  await top.until(screen => selected(screen) === '127.0.1.12' && rowsOf(screen).length === 12)
  top.type('<')
  await top.until(screen => selected(screen) === '127.0.1.30')

  top.type('?')
  await top.until(screen => screen.includes('close all that match the filter'))
  top.type('?')

  top.type('\x1b[B') // down
  await top.until(screen => selected(screen) === '127.0.1.29')
  top.type('k')
  await top.until(screen =>
    /^Close 127\.0\.1\.29:\d+ to 127\.0\.0\.1:\d+, owner bob\? \[y\/N\]/m.test(screen)
  )
  top.type('n\r')
  await top.until(screen => screen.includes('nothing closed'))
  const closed = closeOf(callers[28])
  top.type('k')
  await top.until(screen => screen.includes('[y/N]'))
  top.type('y\r')
  await closed
  await top.until(screen => screen.startsWith('sluice') && screen.includes('29 open'))

  top.type('K')
  await top.until(screen => screen.includes('set a filter first'))
  top.type('fsource=127.0.1.0/28\r')
  await top.until(screen => screen.includes('15 open') && screen.includes('filter source=127.0.1.0/28'))
  top.type('f\x15colour=red\r')
  await top.until(screen => screen.includes('write filters as source='))
  top.type('f\x15source=everywhere\r')
  await top.until(screen => screen.includes('must be an address or a CIDR'))
  await top.until(screen => screen.includes('filter source=127.0.1.0/28'))
  top.type('K')
  await top.until(screen => screen.includes('Close all 15 that match source=127.0.1.0/28? [y/N]'))
  const all = Promise.all(callers.slice(0, 15).map(closeOf))
  top.type('y\r')
  await all
  await top.until(screen => screen.includes('15 closed'))
  await top.until(screen => screen.includes('no open connections match the filter'))
  t.equal(callers.filter(({ destroyed }) => destroyed).length, 16, 'no other one')

  top.type('q')
  t.equal(await top.exit, 0)
  t.notOk(top.isFull())
  t.ok(top.written().endsWith('\x1b[?25h\x1b[?1049l'), 'the cursor is shown again')
})

t.test(
  'it follows the size of the terminal, and a server that goes and comes back',
  { skip: noTerminal ?? false },
  async t => {
    await openCallers(t, ports.bob, 30)
    const top = await open(t)
    await top.until(screen => rowsOf(screen).length === 18)

    top.resize(200, 40)
    const wide = await top.until(screen => rowsOf(screen).length === 30 && screen.includes('RULE'))
    t.match(wide, /SOURCE +TARGET .* CLIENT +BYTES +HELD_BY +DIVERT +RTT +RESENT +PROTO +LISTEN +RULE/)
    t.match(wide, /127\.0\.1\.\d+:\d+ .* bob .* paris .* tcp +127\.0\.0\.1:\d+ /)
    top.resize(40, 10)
    const narrow = await top.until(screen => rowsOf(screen).length === 4 && screen.startsWith('sluice top'))
    t.ok(narrow.split('\n').every(line => line.length <= 40))

    top.resize(120, 24)
    cluster.server.signal('SIGKILL')
    await top.until(screen => /LOST \d+s ago, reconnecting/.test(screen))
    await cluster.server.exit
    await cluster.restart()
    await top.until(screen => screen.includes('live') && screen.includes('30 open'))

    top.kill('SIGTERM')
    t.equal(await top.exit, 0)
    t.notOk(top.isFull())
  }
)

t.test(
  'a tenant sees what is his, without colours when NO_COLOR is set',
  { skip: noTerminal ?? false },
  async t => {
    const top = await open(t, { SVC_TOKEN: ann, NO_COLOR: '1' })
    await top.until(screen => screen.includes('no connections are open'))
    await openCallers(t, ports.ann, 1)
    const screen = await top.until(screen => screen.includes('1 open'))

    t.match(rowsOf(screen), [/^>127\.0\.1\.1:\d+ +127\.0\.0\.1:\d+ +ann /])
    t.notOk(/\[[\d;]*m/.test(top.written()))
    top.type('\x03')
    t.equal(await top.exit, 0)
  }
)
