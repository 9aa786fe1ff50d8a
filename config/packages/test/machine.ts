// Uses an installed sluice like a new machine does: a server and an agent start, the agent enrolls, a byte passes through.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'

/** The place where the program runs. */
export interface Machine {
  /** The words before a command, such as chroot and its directory. */
  readonly prefix: readonly string[]
  /** The path of the program on this machine. */
  readonly sluice: readonly string[]
  /** The words that start the services, as in their units. Default: `sluice server`, `sluice agent run`. */
  readonly services?: { readonly server: readonly string[]; readonly agent: readonly string[] }
  readonly serverDir: string
  readonly agentDir: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Used {
  /** The environment of commands: the server's address, and the operator's token. */
  readonly env: Readonly<Record<string, string>>
  readonly agent: Daemon
  readonly server: Daemon
  /** Sends a byte through the rule. Resolves with the answer of its target. */
  forward(): Promise<string>
}

const token = 'operator-token-of-the-package-test-0123456789'

/** Runs a command and returns its output. Fails the test with its errors. */
export function call(machine: Machine, args: readonly string[], env: Used['env'] = {}, input = ''): string {
  const words = bare(machine, [...machine.sluice, ...args], env)
  const { status, stdout, stderr, error } = spawnSync('env', words, { input, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${args.join(' ')} ended with ${status}: ${error?.message}${stdout}${stderr}`)
  return stdout
}

/** Returns the words of env(1) that hide the environment of the test and its runner from a command. */
function bare(machine: Machine, words: readonly string[], env: Used['env']): string[] {
  const all = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...machine.env, ...env }
  const assignments = Object.entries(all).map(([name, value]) => `${name}=${value}`)
  return ['-i', ...assignments, ...machine.prefix, ...words]
}

/** Starts server and agent and makes a rule. */
export async function use(t: Test, machine: Machine, known?: Pick<Used, 'env'>): Promise<Used> {
  const [api, control, metrics, port] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const env = known?.env ?? {
    SVC_OPERATOR_TOKEN: token,
    SVC_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_SERVER: `http://127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${control}`,
    SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`
  }
  const target = await answering(t)
  const services = machine.services ?? {
    server: [...machine.sluice, 'server', '--data-dir', machine.serverDir],
    agent: [...machine.sluice, 'agent', 'run', '--state-dir', machine.agentDir]
  }
  const server = follow(t, machine, services.server, env)
  await server.until('server.started')
  if (!known) {
    const invitation = call(machine, ['client', 'enroll', 'edge', '--output', 'json'], env)
    const { uri } = JSON.parse(invitation) as { uri: string }
    call(machine, ['agent', 'enroll', '-', '--state-dir', machine.agentDir], {}, `${uri}\n`)
  }
  const agent = follow(t, machine, services.agent, {})
  await agent.until('control.connected')
  call(machine, ['rule', 'push', 'edge', String(port), `127.0.0.1:${target}`], env)
  return { env, agent, server, forward: () => answerOf(port) }
}

export interface Daemon {
  /** Resolves with the first event of this name; rejects if the process ends first. */
  until(event: string): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

/** Runs a command that logs to standard error, until the test ends. */
export function follow(t: Test, machine: Machine, words: readonly string[], env: Used['env']): Daemon {
  const child = spawnChild('env', bare(machine, words, env), { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  return daemonOf(child, words.join(' '))
}

function daemonOf(child: ChildProcess, what: string): Daemon {
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const look of waiting) look()
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
      const look = (): void => {
        const found = lines
          .filter(line => line.startsWith('{'))
          .map(line => JSON.parse(line) as { event: string })
        const match = found.find(one => one.event === event)
        if (match) resolve(match)
        else if (child.exitCode !== null || child.signalCode !== null)
          reject(new Error(`${what} ended before ${event}:\n${lines.join('\n')}`))
      }
      waiting.add(look)
      look()
      return promise.finally(() => waiting.delete(look))
    },
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
  }
}

/** Listens on a free port and echoes each connection. */
async function answering(t: Test): Promise<number> {
  const server = createServer(socket => socket.on('data', data => socket.end(`got ${data}`)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port // a TCP server has a port
}

async function answerOf(port: number): Promise<string> {
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
