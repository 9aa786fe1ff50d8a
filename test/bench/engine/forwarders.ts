// Starts all forwarders to the reference server: our server with its agents, and other installed proxies.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { startAgent, type TestFolder, testCluster } from '../../support/test-cluster.ts'
import { type Forwarder, floors } from './modes.ts'

export interface Forwarding {
  readonly name: Forwarder
  readonly port: number
  readonly pid: number // 0: measures no process
  readonly protocols: readonly ('tcp' | 'udp')[]
  readonly isFloor?: true // carries only modes with `hasFloor`
}

export const serverPort = 19_000
/** Each forwarder has a second TCP rule or server at this offset from its first, to the server's next port. */
export const busyOffset = 50

const nginxModule = '/usr/lib/nginx/modules/ngx_stream_module.so'

/** One thread, like our agents without `--threads`. */
export const haproxyConfig = (port: number, pipeBytes: number | null): string => `
global
    nbthread 1
    maxconn 9700
    maxpipes 200
    ${pipeBytes === null ? '' : `tune.pipesize ${pipeBytes}`}
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    maxconn 9700
    option splice-auto
    option splice-request
    option splice-response
listen bench
    bind 127.0.0.1:${port} backlog 4096
    server s 127.0.0.1:${serverPort}
listen busy
    bind 127.0.0.1:${port + busyOffset} backlog 4096
    server s 127.0.0.1:${serverPort + 1}
`

export const nginxConfig = (port: number, dir: string): string => `
${existsSync(nginxModule) ? `load_module ${nginxModule};` : ''}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${dir}/nginx.pid;
error_log ${dir}/nginx.log crit;
events { worker_connections 19900; }
stream {
  server {
    listen 127.0.0.1:${port} backlog=4096;
    proxy_pass 127.0.0.1:${serverPort};
    proxy_timeout 1h;
    proxy_half_close on;
    tcp_nodelay on;
  }
  server {
    listen 127.0.0.1:${port + busyOffset} backlog=4096;
    proxy_pass 127.0.0.1:${serverPort + 1};
  }
  server {
    listen 127.0.0.1:${port} udp;
    proxy_pass 127.0.0.1:${serverPort};
    proxy_timeout 30s;
  }
}
`

/** Returns the version line of `program`, or null when it is not installed. */
export function versionOf(program: 'haproxy' | 'nginx'): string | null {
  const { error, stdout, stderr } = spawnSync(program, ['-v'], { encoding: 'utf8' })
  return error ? null : ((stdout || stderr).split('\n')[0] ?? null)
}

/** Starts a program. Resolves with its pid once it listens on `port`. */
export async function run(
  t: TestFolder,
  program: string,
  args: readonly string[],
  port: number
): Promise<number> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(() => stop(child))
  while (!(await isListening(port)))
    if (child.exitCode !== null) throw new Error(`${program} exited at its start`)
  if (child.pid === undefined) throw new Error(`${program} was not started`)
  return child.pid
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    await new Promise(resolve => setTimeout(resolve, 50)) // before `run` tries again
    return false
  } finally {
    socket.destroy()
  }
}

export async function startOtherProxies(t: TestFolder): Promise<Forwarding[]> {
  const dir = t.testdir()
  const found: Forwarding[] = []
  const haproxy = async (name: Forwarder, port: number, pipeBytes: number | null) => {
    const file = join(dir, `${name}.cfg`)
    writeFileSync(file, haproxyConfig(port, pipeBytes))
    const pid = await run(t, 'haproxy', ['-db', '-q', '-f', file], port)
    found.push({ name, port, pid, protocols: ['tcp'] })
  }
  if (versionOf('haproxy') !== null) {
    await haproxy('haproxy', 19_101, null)
    await haproxy('haproxy-1m', 19_102, 2 ** 20)
  }
  if (versionOf('nginx') !== null) {
    const file = join(dir, 'nginx.conf')
    writeFileSync(file, nginxConfig(19_120, dir))
    const pid = await run(t, 'nginx', ['-c', file], 19_120)
    found.push({ name: 'nginx', port: 19_120, pid, protocols: ['tcp', 'udp'] })
  }
  return found
}

/** Starts the bare relays that this kernel supports. */
export async function startFloors(t: TestFolder, program: string): Promise<Forwarding[]> {
  const found: Forwarding[] = []
  for (const [at, name] of floors.entries()) {
    const port = 19_130 + at
    const kind = name.slice('floor-'.length)
    try {
      const pid = await run(t, program, [kind, String(port), String(serverPort)], port)
      found.push({ name, port, pid, protocols: ['tcp'], isFloor: true })
    } catch (error) {
      console.error(`${name} is skipped: ${error}`)
    }
  }
  return found
}

const engines = {
  native: { SVC_ENGINE: 'native' },
  'native-copy': { SVC_ENGINE: 'native', SVC_DISABLE_SPLICE: '1' },
  portable: { SVC_ENGINE: 'portable' }
} as const

/** Starts one server, and for each engine an agent with a TCP rule and a UDP rule, created by the CLI. */
export async function startOurs(t: TestFolder, threads: number): Promise<Forwarding[]> {
  const cluster = await testCluster(t)
  const found: Forwarding[] = []
  for (const [at, name] of (['native', 'native-copy', 'portable'] as const).entries()) {
    const port = 19_200 + at
    const env = { SVC_THREADS: String(threads), SVC_LOG_LEVEL: 'info', ...engines[name] }
    const { agent } = await startAgent(t, cluster, name, { env })
    for (const [protocol, from, to] of [
      ['tcp', port, serverPort],
      ['udp', port, serverPort],
      ['tcp', port + busyOffset, serverPort + 1]
    ] as const)
      await cluster.json('rule', 'push', name, String(from), `127.0.0.1:${to}`, '--protocol', protocol)
    found.push({ name, port, pid: agent.pid, protocols: ['tcp', 'udp'] })
  }
  return found
}
