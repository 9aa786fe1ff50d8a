// Compares every port of every edge host with a simple model while random steps create, change, pause, expire and remove
// rules, kill agents and the server, cut or silence the network, enroll edge hosts, and change a group.
// `RULE_MODEL_SEED` and `RULE_MODEL_STEPS` repeat a run.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { engines } from '../matrix/world.ts'
import { type BreakableLink, breakableLink } from '../support/breakable-link.ts'
import { freePort } from '../support/ports.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  testCluster,
  token
} from '../support/test-cluster.ts'
import { readTargetName } from './read-answer.ts'

const steps = Number(process.env['RULE_MODEL_STEPS'] ?? 120)
const seed = Number(process.env['RULE_MODEL_SEED'] ?? Date.now() % 100_000)
t.setTimeout(180_000 + 1000 * steps)

const host = '127.0.0.1'
const closed = 'ECONNREFUSED'

interface ModelRule {
  readonly id: string
  readonly edge: Edge
  port: number
  target: string
  isPaused: boolean
  isExpired: boolean
}

interface Edge {
  readonly name: string
  readonly running: RunningAgent
  readonly address: string // listens on it
  readonly ports: readonly number[]
  isInGroup: boolean
}

/** A group rule on all clients with the label. */
interface Group {
  readonly id: string
  readonly port: number
  target: string
}

const maxEdges = 3

const expiresAfterMs = 1000 // still in the future when the request arrives

class ModelRun {
  readonly #cluster: TestCluster
  readonly #link: BreakableLink
  readonly #join: (name: string) => Promise<Edge>
  readonly #targets: ReadonlyMap<string, number> // port by name
  readonly #edges: Edge[] = []
  #group: Group | null = null
  readonly #rules: ModelRule[] = []
  readonly counts: Record<string, number> = {}

  constructor(
    cluster: TestCluster,
    link: BreakableLink,
    targets: ReadonlyMap<string, number>,
    join: (name: string) => Promise<Edge>
  ) {
    this.#cluster = cluster
    this.#link = link
    this.#targets = targets
    this.#join = join
  }

  async join(): Promise<string> {
    const edge = await this.#join(`edge-${this.#edges.length}`)
    this.#edges.push(edge)
    return `join ${edge.name}`
  }

  async openGroup(listen_port: number): Promise<void> {
    const body = { clients: { selector: 'site=east' }, listen_port, targets: this.#targetsOf('a') }
    const { rule_id: id } = await this.#cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
    this.#group = { id, port: listen_port, target: 'a' }
  }

  /** Plays one step. Returns its description. */
  async step(pick: (below: number) => number): Promise<string> {
    const rule = this.#rules[pick(Math.max(1, this.#rules.length))]
    const edge = rule?.edge ?? this.#edges[0]
    const port = edge?.ports[pick(edge.ports.length)] ?? 0
    const name = [...this.#targets.keys()][pick(this.#targets.size)] ?? ''
    const roll = pick(100)
    const kind = !rule || roll < 15 ? 'create' : (kinds.find(([, below]) => roll < below)?.[0] ?? 'retarget')
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    if (!rule || kind === 'create') return this.#create(this.#edges[pick(this.#edges.length)], pick, name)
    const path = `/v1/rules/${rule.id}`
    switch (kind) {
      case 'retarget':
        return this.#patch(rule, { targets: this.#targetsOf(name) }, { target: name })
      case 'move':
        return this.#patch(rule, { listen_port: port }, { port }, this.#isTaken(port, rule))
      case 'both':
        return this.#patch(
          rule,
          { listen_port: port, targets: this.#targetsOf(name), paused: false },
          { port, target: name, isPaused: false },
          this.#isTaken(port, rule)
        )
      case 'pause':
        return this.#patch(rule, { paused: true }, { isPaused: true })
      case 'resume':
        return this.#patch(rule, { paused: false }, { isPaused: false })
      case 'expire': {
        const done = await this.#patch(
          rule,
          { expires_at: new Date(Date.now() + expiresAfterMs).toISOString() },
          { isExpired: true },
          rule.isExpired && this.#holderOf(rule.port, rule) // an unexpired rule would be open
        )
        await after(expiresAfterMs + 200) // waits until the rule expires
        return done
      }
      case 'revive':
        return this.#patch(
          rule,
          { expires_at: null },
          { isExpired: false },
          rule.isExpired && this.#holderOf(rule.port, rule)
        )
      case 'remove':
        this.#rules.splice(this.#rules.indexOf(rule), 1)
        return this.#expect('DELETE', path, undefined, 204)
      case 'kill agent':
        return this.#killAgent(rule, pick, name)
      case 'cut':
        return this.#cut(rule, name)
      case 'silence':
        return this.#silence(rule, name)
      case 'label':
        return this.#label(this.#edges[pick(this.#edges.length)])
      case 'group':
        return this.#retargetGroup(name)
      case 'join':
        return this.#edges.length < maxEdges ? this.join() : 'all have joined'
      default:
        return this.#killServer()
    }
  }

  /** Compares the answers of all ports with the model. Returns the differences. */
  async differences(): Promise<string[]> {
    const places = this.#edges.flatMap(edge => [
      ...edge.ports.map(port => ({ edge, port, expected: this.#ruleAt(port)?.target ?? closed })),
      ...(this.#group
        ? [{ edge, port: this.#group.port, expected: edge.isInGroup ? this.#group.target : closed }]
        : [])
    ])
    const found = await Promise.all(
      places.map(async place => ({ ...place, answer: await answerOf(place.port, place.edge.address) }))
    )
    return found.flatMap(({ edge, port, expected, answer }) =>
      answer === expected ? [] : [`port ${port} of ${edge.name} answers ${answer}, not ${expected}`]
    )
  }

  #ruleAt = (port: number) => this.#rules.find(one => one.port === port && !one.isPaused && !one.isExpired)

  /** Makes the edge host enter or leave the group. */
  async #label(edge: Edge | undefined): Promise<string> {
    if (!edge) throw new TypeError('no edge has joined')
    const path = `/v1/clients/${edge.running.clientId}`
    const body = { labels: { site: edge.isInGroup ? null : 'east' } }
    const done = await this.#expect('PATCH', path, body, 200)
    edge.isInGroup = !edge.isInGroup
    return `label ${edge.name}: ${done}`
  }

  async #retargetGroup(name: string): Promise<string> {
    if (!this.#group) throw new TypeError('there is no group')
    const path = `/v1/rules/${this.#group.id}`
    const done = await this.#expect('PATCH', path, { targets: this.#targetsOf(name) }, 200)
    this.#group.target = name
    return `group ${done}`
  }

  #targetsOf = (name: string) => [{ host, port: this.#targets.get(name) }]
  /** True if another rule has the port. An expired rule neither has nor needs a port. */
  #isTaken = (port: number, by?: ModelRule): boolean => !by?.isExpired && this.#holderOf(port, by)
  #holderOf = (port: number, but?: ModelRule): boolean =>
    this.#rules.some(rule => rule !== but && rule.port === port && !rule.isExpired)

  async #create(
    edge: Edge | undefined,
    pick: (below: number) => number,
    target: string,
    more: object = {}
  ): Promise<string> {
    if (!edge) throw new TypeError('no edge has joined')
    const port = edge.ports[pick(edge.ports.length)] ?? 0
    const body = { client: edge.name, listen_port: port, targets: this.#targetsOf(target), ...more }
    const isTaken = this.#holderOf(port)
    const { status, record } = await this.#send('POST', '/v1/rules', body)
    if (status !== (isTaken ? 409 : 201))
      throw new Error(`create on ${port}: ${status} ${JSON.stringify(record)}`)
    if (record)
      this.#rules.push({ id: record.rule_id, edge, port, target, isPaused: false, isExpired: false })
    return `create ${port} ${target}: ${status}`
  }

  async #patch(
    rule: ModelRule,
    body: object,
    change: Partial<ModelRule>,
    isRefused = false
  ): Promise<string> {
    const done = await this.#expect('PATCH', `/v1/rules/${rule.id}`, body, isRefused ? 409 : 200)
    if (!isRefused) Object.assign(rule, change)
    return done
  }

  async #killAgent(rule: ModelRule, pick: (below: number) => number, name: string): Promise<string> {
    const { running } = rule.edge
    const offline = this.#disconnected([rule.edge])
    running.agent.signal('SIGKILL')
    await running.agent.exit
    await offline
    await this.#patch(rule, { targets: this.#targetsOf(name) }, { target: name })
    const queued = await this.#create(rule.edge, pick, name, { if_offline: 'queue' })
    running.restart()
    await running.agent.until('control.connected')
    return `kill agent; while it is down ${queued}`
  }

  /** Agents keep their rules while the network is cut, and get the changes once it is healed. */
  async #cut(rule: ModelRule, name: string): Promise<string> {
    const offline = this.#disconnected(this.#edges)
    const online = this.#connected()
    this.#link.cut()
    await offline
    const found = await this.differences()
    if (found.length > 0) throw new Error(`while the network is cut: ${found.join(', ')}`)
    const done = await this.#patch(rule, { targets: this.#targetsOf(name) }, { target: name })
    const paused = await this.#patch(rule, { paused: !rule.isPaused }, { isPaused: !rule.isPaused })
    this.#link.heal()
    await online
    return `cut; during the cut ${done}, ${paused}`
  }

  /** Neither side notices that the network is silent: a change times out, but remains in effect. */
  async #silence(rule: ModelRule, name: string): Promise<string> {
    const isSent = rule.target !== name && !rule.isExpired
    this.#link.silence()
    const path = `/v1/rules/${rule.id}?ack_timeout_secs=1`
    const body = { targets: this.#targetsOf(name) }
    const done = isSent ? await this.#expect('PATCH', path, body, 504) : 'nothing'
    const found = await this.differences()
    if (found.length > 0) throw new Error(`while the network is silent: ${found.join(', ')}`)
    if (isSent) rule.target = name
    this.#link.heal()
    return `silence; during the silence ${done}`
  }

  #disconnected = (edges: readonly Edge[]) => {
    const { server } = this.#cluster
    const seen = server.events.length
    const isOf = ({ running }: Edge) =>
      server.until('client.disconnected', event => event['client_id'] === running.clientId, seen)
    return Promise.all(edges.map(isOf))
  }
  #connected = () =>
    Promise.all(
      this.#edges.map(({ running: { agent } }) =>
        agent.until('control.connected', () => true, agent.events.length)
      )
    )

  async #killServer(): Promise<string> {
    const { server } = this.#cluster
    const online = this.#connected()
    server.signal('SIGKILL')
    await server.exit
    const found = await this.differences()
    if (found.length > 0) throw new Error(`without the server: ${found.join(', ')}`)
    await this.#cluster.restart()
    await online
    return 'kill server'
  }

  async #expect(method: string, path: string, body: object | undefined, expected: number): Promise<string> {
    const { status, record } = await this.#send(method, path, body)
    const done = `${method} ${path} ${JSON.stringify(body)}: ${status}`
    if (status !== expected) throw new Error(`${done}, not ${expected}: ${JSON.stringify(record)}`)
    return done
  }

  async #send(method: string, path: string, body: object | undefined) {
    const reply = await fetch(this.#cluster.origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    const record = text === '' ? null : (JSON.parse(text) as { readonly rule_id: string }) // if the status is 201
    return { status: reply.status, record: reply.status === 409 ? null : record }
  }
}

const kinds = [
  ['retarget', 29],
  ['label', 33],
  ['group', 36],
  ['move', 47],
  ['both', 55],
  ['pause', 65],
  ['resume', 77],
  ['expire', 82],
  ['revive', 88],
  ['remove', 93],
  ['cut', 94],
  ['silence', 96],
  ['join', 97],
  ['kill agent', 99],
  ['kill server', 100]
] as const

/** Each edge host listens on a separate loopback address: 'edge-1' on 127.0.0.2. */
const addressOf = (edge: string): string => `127.0.0.${Number(edge.slice('edge-'.length)) + 1}`

async function answerOf(port: number, address: string): Promise<string> {
  return readTargetName(port, Buffer.from('x'), address).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.message
  )
}

async function openTargets(t: Test): Promise<Map<string, number>> {
  const targets = new Map<string, number>()
  for (const name of ['a', 'b', 'c']) {
    const server = createServer(socket => socket.on('error', () => {}).end(name)).listen(0, host)
    await once(server, 'listening')
    t.teardown(() => void server.close())
    targets.set(name, (server.address() as { readonly port: number }).port) // a TCP address
  }
  return targets
}

for (const engine of engines)
  t.test(
    `every port matches the model after ${steps} random steps with seed ${seed}, on the ${engine} engine`,
    async t => {
      const cluster = await testCluster(t)
      const link = await breakableLink(t, cluster.controlPort)
      await cluster.call('PUT', '/v1/settings/advertised-endpoint', {
        advertised_endpoint: `${host}:${link.port}`
      })
      const env = { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' }
      const run = new ModelRun(cluster, link, await openTargets(t), async name => ({
        name,
        address: addressOf(name),
        running: await startAgent(t, cluster, name, { env: { ...env, SVC_BIND: addressOf(name) } }),
        isInGroup: false,
        ports: [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()]
      }))
      await run.join()
      await run.openGroup(await freePort())
      const dice = seededRandom(seed)
      const done: string[] = []
      let differences: string[] = []

      while (done.length < steps && differences.length === 0) {
        const step = await run.step(below => dice.below(below)).catch(String)
        done.push(step)
        differences = step.startsWith('Error') ? [step] : await run.differences()
        for (
          let tries = 0;
          /^(kill|cut|silence|label)/.test(step) && differences.length > 0 && tries < 50;
          tries++
        ) {
          await after(100) // the agent gets missed changes when it connects
          differences = await run.differences()
        }
      }

      t.same(differences, [], done.slice(-8).join('\n'))
      t.comment(JSON.stringify(run.counts))
    }
  )
