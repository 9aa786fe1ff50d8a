// node path-mtu.ts: runs in a separate network namespace, as the edge host. A router with an MTU of 1,300 bytes is between
// it and the host with the caller and the target. Sends the sizes that came back, and the refusals.
import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EngineRule } from '../../agent/engine/engine.ts'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { spawnChild } from '../support/child-process.ts'
import { openUdpRule } from './cases/udp-fixture.ts'
import { engineFixture } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'
import type { Reply, Request } from './path-mtu-host.ts'

const edge = { ipv4: '10.78.1.1', ipv6: 'fd78:1::1' }
const far = { ipv4: '10.78.2.2', ipv6: 'fd78:2::2' }
const native = nativeUnderTest()
const openEngine = process.env['ENGINE'] === 'native' && native.ok ? native.openEngine : openPortableEngine

/** Starts a program in its own network namespace. */
async function spawnApart(t: Test, ...command: readonly string[]): Promise<ChildProcess & { pid: number }> {
  const child = spawnChild('unshare', ['-n', 'sh', '-c', 'echo; exec "$@"', 'sh', ...command], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  if (child.stdout) await once(child.stdout, 'data') // it is in its namespace
  return child as ChildProcess & { pid: number }
}

const ip = (...args: readonly string[]): void => void execFileSync('ip', args, { stdio: 'inherit' })
const inside = (pid: number, script: string): void =>
  void execFileSync('nsenter', ['-t', String(pid), '-n', 'sh', '-ec', script], { stdio: 'inherit' })

/** Connects edge, router and host with two links. Only the second one has the small MTU. */
function connectHosts(router: number, host: number): void {
  ip('link', 'add', 'edge0', 'type', 'veth', 'peer', 'name', 'near0', 'netns', String(router))
  inside(router, `ip link add far0 mtu 1300 type veth peer name host0 mtu 1300 netns ${host}`)
  const up = (link: string, ...addresses: string[]) =>
    [
      `ip link set ${link} up`,
      ...addresses.map(one => `ip address add ${one} dev ${link} ${one.includes(':') ? 'nodad' : ''}`)
    ].join('\n')
  const here = up('edge0', `${edge.ipv4}/24`, `${edge.ipv6}/64`)
  execFileSync('sh', [
    '-ec',
    `${here}\nip route add default via 10.78.1.2\nip -6 route add default via fd78:1::2`
  ])
  inside(
    router,
    `${up('near0', '10.78.1.2/24', 'fd78:1::2/64')}
    ${up('far0', '10.78.2.1/24', 'fd78:2::1/64')}
    echo 1 > /proc/sys/net/ipv4/ip_forward
    echo 1 > /proc/sys/net/ipv6/conf/all/forwarding`
  )
  inside(
    host,
    `${up('host0', `${far.ipv4}/24`, `${far.ipv6}/64`)}
    ip route add default via 10.78.2.1
    ip -6 route add default via fd78:2::1`
  )
}

t.test(`datagrams of a path with a small MTU: ${process.env['ENGINE']}`, async t => {
  const router = await spawnApart(t, 'sleep', 'infinity')
  const host = await spawnApart(t, process.execPath, join(import.meta.dirname, 'path-mtu-host.ts'))
  connectHosts(router.pid, host.pid)
  const ask = async (request: Request): Promise<Reply> => {
    host.send(request)
    const [reply] = await once(host, 'message')
    return reply
  }
  const { engine } = engineFixture(t, openEngine, { bind: ['0.0.0.0', '::'] })
  const opened = await ask({ targets: [far.ipv4, far.ipv6] })
  const port = 'targetPort' in opened ? opened.targetPort : 0
  const ipv4 = await openUdpRule(engine, [{ host: far.ipv4, port }])
  const ipv6 = await openUdpRule(engine, [{ host: far.ipv6, port }])
  const answers = async (to: string, { from }: EngineRule, ...sizes: readonly number[]) => {
    const reply = await ask({ send: { to, port: from, sizes } })
    return 'answered' in reply ? reply.answered : []
  }
  const isReached = async (to: string, rule: EngineRule) => {
    while ((await answers(to, rule, 1_400)).length === 0);
    return true
  }

  await answers(edge.ipv4, ipv4) // new links lose datagrams until they are up
  await answers(edge.ipv6, ipv6)
  const answered = []
  for (const size of [1_400, 1_272, 3_000]) answered.push(...(await answers(edge.ipv4, ipv4, size)))
  const seen = {
    ipv4: {
      answered,
      isReached: await isReached(edge.ipv4, ipv4),
      rejected: engine.sample().rules[0]?.rejected
    },
    ipv6: { isReached: await isReached(edge.ipv6, ipv6) }
  }
  process.send?.({ seen })
})
