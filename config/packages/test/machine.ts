// Runs an installed package end to end: starts a server, enrolls and starts an agent, and sends a byte through a rule.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'

/** A host, chroot or container where the package is installed. */
export interface Machine {
  /** Command prefix that runs a command there, for example `chroot DIR`. */
  readonly prefix: readonly string[]
  /** Command that runs sluice there. */
  readonly sluice: readonly string[]
  /** Commands of the systemd units. Default: `sluice server` and `sluice agent run`, with the directories below. */
  readonly services?: { readonly server: readonly string[]; readonly agent: readonly string[] }
  readonly serverDir: string
  readonly agentDir: string
  readonly env?: Readonly<Record<string, string>>
}

/** A running server and its agent, with one rule. */
export interface Deployment {
  /** Environment for commands: the server's address and the operator's token. */
  readonly env: Readonly<Record<string, string>>
  readonly agent: Daemon
  readonly server: Daemon
  /** Sends 'x' through the rule. Resolves with the answer of the target: 'got x'. */
  forward(): Promise<string>
}

const token = 'operator-token-of-the-package-test-0123456789'

/** Runs a sluice command and returns its output. Throws with its error output if it fails. */
export function runSluice(
  machine: Machine,
  args: readonly string[],
  env: Deployment['env'] = {},
  input = ''
): string {
  const command = envArgs(machine, [...machine.sluice, ...args], env)
  const { status, stdout, stderr, error } = spawnSync('env', command, { input, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${args.join(' ')} ended with ${status}: ${error?.message}${stdout}${stderr}`)
  return stdout
}

/** Returns arguments of env(1) that run a command without the environment of the test. */
function envArgs(machine: Machine, command: readonly string[], env: Deployment['env']): string[] {
  const all = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...machine.env, ...env }
  const assignments = Object.entries(all).map(([name, value]) => `${name}=${value}`)
  return ['-i', ...assignments, ...machine.prefix, ...command]
}

/** Starts a server and an agent, and creates a rule. With `earlier`, an earlier deployment has enrolled the agent. */
export async function startDeployment(
  t: Test,
  machine: Machine,
  earlier?: Pick<Deployment, 'env'>
): Promise<Deployment> {
  const [api, control, metrics, port] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const env = earlier?.env ?? {
    SVC_OPERATOR_TOKEN: token,
    SVC_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_SERVER: `http://127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${control}`,
    SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`
  }
  const target = await startTarget(t)
  const services = machine.services ?? {
    server: [...machine.sluice, 'server', '--data-dir', machine.serverDir],
    agent: [...machine.sluice, 'agent', 'run', '--state-dir', machine.agentDir]
  }
  const server = startDaemon(t, machine, services.server, env)
  await server.until('server.started')
  if (!earlier) {
    const enrollment = runSluice(machine, ['client', 'enroll', 'edge', '--output', 'json'], env)
    const { uri } = JSON.parse(enrollment) as { uri: string }
    runSluice(machine, ['agent', 'enroll', '-', '--state-dir', machine.agentDir], {}, `${uri}\n`)
  }
  const agent = startDaemon(t, machine, services.agent, {})
  await agent.until('control.connected')
  runSluice(machine, ['rule', 'push', 'edge', String(port), `127.0.0.1:${target}`], env)
  return { env, agent, server, forward: () => sendByte(port) }
}

/** A process that logs one JSON event per line to standard error. */
export interface Daemon {
  /** Resolves with the first event of this name; rejects if the process ends first. */
  until(event: string): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

/** Starts a command, and kills it when the test ends. */
export function startDaemon(
  t: Test,
  machine: Machine,
  command: readonly string[],
  env: Deployment['env']
): Daemon {
  const child = spawnChild('env', envArgs(machine, command, env), { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  return watchEvents(child, command.join(' '))
}

function watchEvents(child: ChildProcess, name: string): Daemon {
  const lines: string[] = []
  const waiters = new Set<() => void>()
  const wake = (): void => {
    for (const check of waiters) check()
  }
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      wake()
    })
  child.on('exit', wake)
  return {
    until(event) {
      const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>>>()
      const check = (): void => {
        const events = lines
          .filter(line => line.startsWith('{'))
          .map(line => JSON.parse(line) as { event: string })
        const match = events.find(logged => logged.event === event)
        if (match) resolve(match)
        else if (child.exitCode !== null || child.signalCode !== null)
          reject(new Error(`${name} ended before ${event}:\n${lines.join('\n')}`))
      }
      waiters.add(check)
      check()
      return promise.finally(() => waiters.delete(check))
    },
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
  }
}

/** Listens on a free port, which it returns, and answers 'got ' and the data on each connection. */
async function startTarget(t: Test): Promise<number> {
  const server = createServer(socket => socket.on('data', data => socket.end(`got ${data}`)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port // a TCP server has a port
}

async function sendByte(port: number): Promise<string> {
  const socket = dial(port, '127.0.0.1')
  socket.setEncoding('utf8')
  socket.write('x')
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number } // a TCP server has a port
  server.close()
  await once(server, 'close')
  return port
}
