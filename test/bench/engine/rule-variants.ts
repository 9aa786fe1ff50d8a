// Rule variants of the native engine for comparison: equal or different ports, host name or address, number of rules.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestFolder } from '../../support/test-cluster.ts'
import { type Forwarding, serverPort, stop } from './forwarders.ts'
import type { HostedRule } from './rule-host.ts'

const loadTool = join(import.meta.dirname, 'load', 'build', 'load')

/** A separate host, since a listener on all addresses of this one would occupy the target's port. */
const peer = { address: '10.213.77.2', own: '10.213.77.1', port: 19_310 }
const local = (port: number): HostedRule => ({ port, target: '127.0.0.1', targetPort: serverPort })

const hosts = {
  ports: {
    bind: ['0.0.0.0'],
    rules: [
      { port: peer.port, target: peer.address, targetPort: peer.port },
      { port: peer.port + 10, target: peer.address, targetPort: peer.port + 1 }
    ]
  },
  names: {
    bind: ['127.0.0.1'],
    rules: [{ ...local(19_330), target: 'target.test' }, local(19_331)]
  },
  one: { bind: ['127.0.0.1'], rules: [local(19_340)] },
  hundred: { bind: ['127.0.0.1'], rules: [{ ...local(19_350), count: 100 }] },
  'ten thousand': { bind: ['127.0.0.1'], rules: [{ ...local(20_000), count: 10_000 }] }
} as const

/** The destinations of load for modes with a variant. */
export const variants = {
  'equal ports': { host: 'ports', port: peer.port },
  'other ports': { host: 'ports', port: peer.port + 10 },
  name: { host: 'names', port: 19_330 },
  literal: { host: 'names', port: 19_331 },
  '1 rule': { host: 'one', port: 19_340 },
  '100 rules': { host: 'hundred', port: 19_399 },
  '10,000 rules': { host: 'ten thousand', port: 25_000 }
} as const satisfies Record<string, { host: keyof typeof hosts; port: number }>
export type Variant = keyof typeof variants

/** Starts the wanted variants. Skips those on the peer if this user cannot create a network. */
export async function startVariants(
  t: TestFolder,
  wanted: ReadonlySet<Variant>
): Promise<Partial<Record<Variant, Forwarding>>> {
  const found: Partial<Record<Variant, Forwarding>> = {}
  const pids = new Map<string, number>()
  for (const variant of wanted) {
    const { host, port } = variants[variant]
    if (host === 'ports' && !pids.has(host) && !(await startPeer(t))) continue
    const pid = pids.get(host) ?? (await startHost(t, host))
    pids.set(host, pid)
    found[variant] = { name: 'native', port, pid, protocols: ['tcp'] }
  }
  return found
}

async function startHost(t: TestFolder, host: keyof typeof hosts): Promise<number> {
  const args = [join(import.meta.dirname, 'rule-host.ts'), JSON.stringify(hosts[host])]
  return started(t, spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }))
}

async function startPeer(t: TestFolder): Promise<boolean> {
  const server = `exec "${loadTool}" server --port ${peer.port} --to ${peer.address}:0`
  const wait = `until ip address show dev bench1 2>/dev/null | grep -q ${peer.address}; do sleep 0.05; done`
  const child = spawn('unshare', ['--net', 'sh', '-c', `ip link set lo up; echo; ${wait}; ${server}`], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  try {
    const pid = await started(t, child)
    const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' })
    const ipOfPeer = (...args: string[]) =>
      execFileSync('nsenter', ['-t', String(pid), '-n', 'ip', ...args], { stdio: 'pipe' })
    ip('link', 'add', 'bench0', 'type', 'veth', 'peer', 'name', 'bench1', 'netns', String(pid))
    ip('address', 'add', `${peer.own}/30`, 'dev', 'bench0')
    ip('link', 'set', 'bench0', 'up')
    ipOfPeer('link', 'set', 'bench1', 'up')
    ipOfPeer('address', 'add', `${peer.address}/30`, 'dev', 'bench1')
    await once(child.stdout, 'data') // the server listens
    return true
  } catch (error) {
    console.error(
      `equal ports are skipped, since a second network cannot be created: ${(error as Error).message}`
    )
    return false
  }
}

/** Resolves with the child's pid once it has written its first line. */
async function started(t: TestFolder, child: ChildProcess): Promise<number> {
  t.teardown(() => stop(child))
  if (child.stdout === null || child.pid === undefined) throw new Error('a process was not started')
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${child.spawnfile} exited with ${code} at its start`)
    })
  ])
  return child.pid
}
