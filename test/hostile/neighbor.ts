// A tenant that uses up everything it shares with others: bodies, bans, names, connections, flows, pipes, changes, streams,
// probes, the audit log and sign-ins, all at once. Attacks in rounds, with rests to compare the uses of others.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type SeededRandom, seededRandom } from '../bench/soak/seeded-random.ts'
import { type JsonSchema, worstBodies } from '../support/worst-bodies.ts'
import { isFuzzed, operationsOf } from './request-mutator.ts'
import type { Attack, Target } from './target.ts'

const firstPort = 20_000 // of the tenant's grant
const deadNames = 60
const floodConnections = 400 // open at a time
const floodFlows = 100
const floodMs = 200 // how long the connections are open
const floodEveryMs = 750 // on every machine, and so that the kernel has time for those who are measured
const stalledConnections = 60
const stalledBytes = 4 * 2 ** 20
const streams = 16
const churnedRules = 100
const maxBodyBytes = 1024 * 1024
const minRounds = 3 // for enough samples
const attackMs = 8_000 // of a round
const restMs = 6_000 // before each round, to compare with
const settleMs = 1_000 // until the server has ended the requests of a round

/** Every part of the attack gets these. */
interface Tenant {
  readonly target: Target
  readonly random: SeededRandom
  readonly count: (what: string) => void
  readonly sink: number // a port that accepts and never reads
  /** Calls the API as the tenant. Counts the reply by `what` and status. */
  call(what: string, method: string, path: string, body?: string): Promise<unknown>
  /** Creates a rule on the first client. Returns its id, or '' if it is refused. */
  rule(what: string, body: object): Promise<string>
}

/** Creates the rules of a part of the attack. Returns the part, which runs once a round, until the round ends. */
type Part = (tenant: Tenant) => Promise<(until: AbortSignal) => Promise<void>>

const json = { 'content-type': 'application/json' }

/** Sends the most expensive bodies of each route, eight at a time. */
const sendWorstBodies: Part = async ({ target, random, call }) => {
  const operations = (await operationsOf(target.origin)).filter(isFuzzed).filter(({ body }) => body !== null)
  const path = (url: string): string => url.replaceAll(/\{[^}]+\}/g, target.victim.ruleIds[0] ?? '')
  return async until => {
    while (!until.aborted) {
      const { method, url, body } = random.pick(operations) ?? { method: 'POST', url: '/v1/rules', body: {} }
      const bodies = worstBodies((body ?? {}) as JsonSchema, maxBodyBytes)
      const some = Array.from({ length: 8 }, () => random.pick(bodies)?.text ?? '[]')
      await Promise.all(some.map(text => call('body', method, path(url), text)))
      await wait(1_000) // the other parts must not wait for the CPU time of this one
    }
  }
}

/** Has thousands of sources banned from its own rule. */
const floodBans: Part = async ({ random, count, sink, rule }) => {
  const port = firstPort
  const ban = { new_connections: 1, within_secs: 60, for_secs: 86_400 }
  await rule('bans', { listen_port: port, targets: [at(sink)], ban })
  return async until => {
    while (!until.aborted) {
      const localAddress = `127.${1 + random.below(250)}.${random.below(250)}.${1 + random.below(250)}`
      for (let i = 0; i < 3; i++) await visit({ port, localAddress })
      count('banned source')
    }
  }
}

/** Sends callers to rules with names of targets that do not exist. */
const askDeadNames: Part = async ({ random, count, rule }) => {
  const ports = Array.from({ length: deadNames }, (_, i) => firstPort + 100 + i)
  for (const port of ports)
    await rule('name', { listen_port: port, targets: [{ host: `n${port}.dead.invalid`, port: 9 }] })
  return async until => {
    while (!until.aborted) {
      await Promise.all(Array.from({ length: 16 }, () => visit({ port: random.pick(ports) ?? 0 })))
      count('16 dead names')
    }
  }
}

const floodConnectionsAndFlows: Part = async ({ count, sink, rule }) => {
  const port = firstPort + 1
  await rule('flood', { listen_port: port, targets: [at(sink)] })
  await rule('flood', { listen_port: port, protocol: 'udp', targets: [at(sink)] })
  return async until => {
    while (!until.aborted) {
      const next = wait(floodEveryMs)
      const open = Array.from({ length: floodConnections }, () => hold(port))
      await floodUdp(port)
      count('flood')
      await wait(floodMs)
      for (const socket of open) socket.destroy()
      await next
    }
  }
}

/** Sends data that the target never reads. */
const stallTransfers: Part = async ({ rule, sink, count }) => {
  const port = firstPort + 2
  await rule('stall', { listen_port: port, targets: [at(sink)] })
  return async until => {
    const stalled = Array.from({ length: stalledConnections }, () => {
      const socket = hold(port)
      socket.write(Buffer.alloc(stalledBytes))
      count('stalled')
      return socket
    })
    if (!until.aborted) await once(until, 'abort')
    for (const socket of stalled) socket.destroy()
  }
}

/** Pauses and resumes many rules with each request. */
const churnRules: Part = async ({ call, rule, sink }) => {
  const ids: string[] = []
  for (let i = 0; i < churnedRules; i++)
    ids.push(await rule('churn', { listen_port: firstPort + 300 + i, targets: [at(sink)] }))
  return async until => {
    for (let round = 0; !until.aborted; round++) {
      const body = { ids: ids.filter(id => id !== ''), action: round % 2 === 0 ? 'pause' : 'resume' }
      await call('bulk', 'POST', '/v1/rules/bulk', JSON.stringify(body))
    }
  }
}

const holdStreams: Part =
  async ({ target: { origin, tenant }, count }) =>
  async until => {
    const headers = { authorization: `Bearer ${tenant.token}` }
    await Promise.all(
      Array.from({ length: streams }, async (_, i) => {
        const url = `${origin}/v1/connections/stream?sort=bytes&limit=${500 - i}`
        const reply = await fetch(url, { headers, signal: until }).catch(() => null)
        count(`stream ${reply?.status ?? 'cut'}`)
        await reply?.text().catch(() => '') // at the end of the attack
      })
    )
  }

/** Probes a target that accepts and says nothing, which takes as long as a probe may take. */
const probeTargets: Part = async ({ target, call, rule, sink }) => {
  const port = firstPort + 3
  await rule('probe', { listen_port: port, targets: [at(sink)] })
  const question = { client: target.victim.clientIds[0], port, protocol: 'tcp', probe: true }
  const ask = () => call('probe', 'POST', '/v1/explain', JSON.stringify(question))
  return async until => {
    while (!until.aborted) await Promise.all([ask(), ask(), ask()])
  }
}

/** Is refused in ever different ways: each is an entry of the audit log. */
const fillAudit: Part =
  async ({ target, random, call }) =>
  async until => {
    while (!until.aborted) {
      const id = random.pick([...target.victim.ruleIds, target.victim.userId, 'nobody'])
      const path = random.pick([
        `/v1/rules/${id}`,
        `/v1/users/${id}`,
        `/v1/clients/${id}`,
        `/v1/grants/${id}`
      ])
      await call('refused', random.pick(['DELETE', 'PATCH', 'PUT']) ?? '', path ?? '', '{}')
    }
  }

const guessPasswords: Part =
  async ({ target, random, call }) =>
  async until => {
    while (!until.aborted) {
      const user_id = random.pick([target.tenant.userId, 'nobody', 'root'])
      const body = JSON.stringify({ user_id, password: `guess ${random.below(2 ** 30)}` })
      await call('sign-in', 'POST', '/v1/auth/login', body)
    }
  }

const parts: readonly Part[] = [
  sendWorstBodies,
  floodBans,
  askDeadNames,
  floodConnectionsAndFlows,
  stallTransfers,
  churnRules,
  holdStreams,
  probeTargets,
  fillAudit,
  guessPasswords
]

const at = (port: number) => ({ host: '127.0.0.1', port })

export const attack: Attack = async (target, announce) => {
  const did: Record<string, number> = {}
  const count = (what: string): void => {
    did[what] = (did[what] ?? 0) + 1
  }
  let round = new AbortController()
  const sink = await openSink()
  const call: Tenant['call'] = async (what, method, path, body) => {
    const headers = { authorization: `Bearer ${target.tenant.token}`, ...(body !== undefined && json) }
    const signal = AbortSignal.any([round.signal, AbortSignal.timeout(60_000)])
    const sent = await fetch(`${target.origin}${path}`, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body })
    }).catch(() => null) // the server may cut an oversized request
    count(`${what} ${sent?.status ?? 'cut'}`)
    const text = (await sent?.text().catch(() => '')) ?? ''
    if (sent?.status === 500) throw new Error(`${method} ${path} answers 500: ${text.slice(0, 500)}`)
    return text === '' ? null : JSON.parse(text)
  }
  const rule: Tenant['rule'] = async (what, body) => {
    const given = { client: target.victim.clientIds[0], ...body }
    const made = await call(`${what} rule`, 'POST', '/v1/rules', JSON.stringify(given))
    return String(Object(made)['rule_id'] ?? '')
  }
  const attacks: ((until: AbortSignal) => Promise<void>)[] = []
  for (const [i, part] of parts.entries())
    attacks.push(await part({ target, random: seededRandom(target.seed * 100 + i), count, sink, call, rule }))
  const end = Date.now() + target.secs * 1000
  for (let rounds = 0; rounds < minRounds || Date.now() < end; rounds++) {
    await wait(settleMs)
    announce('resting')
    await wait(restMs)
    announce('attacking')
    round = new AbortController()
    const { signal } = round
    setTimeout(() => round.abort(), attackMs)
    await Promise.all(attacks.map(run => run(signal)))
    announce('changing')
  }
  return did
}

/** Accepts connections and reads nothing. */
async function openSink(): Promise<number> {
  const server = createServer(socket => void socket.on('error', () => {}).pause()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

const hold = (port: number): Socket => connect({ host: '127.0.0.1', port }).on('error', () => {})

/** Connects, and leaves when connected or refused. */
async function visit(to: { readonly port: number; readonly localAddress?: string }): Promise<void> {
  const socket = connect({ host: '127.0.0.1', ...to }).setTimeout(5_000)
  const left = Promise.withResolvers<void>()
  const leave = (): void => void socket.destroy()
  socket.on('error', leave).on('timeout', leave).on('close', left.resolve).on('connect', leave)
  await left.promise
}

async function floodUdp(port: number): Promise<void> {
  const sockets = Array.from({ length: floodFlows }, () => createSocket('udp4'))
  await Promise.all(
    sockets.map(
      socket => new Promise<void>(resolve => socket.send('a', port, '127.0.0.1', () => socket.close(resolve)))
    )
  )
}
