// A whole agent in this process: its real halves, state and control stream, on a fake engine and the server's fake clock.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { runAgent } from '../agent/agent.ts'
import { askAgent } from '../agent/local/ask-agent.ts'
import type { AgentStatus } from '../agent/local/status-command.ts'
import type { AgentPlugin } from '../agent/plugin.ts'
import { checkPlugins } from '../agent/plugins/check-plugins.ts'
import { type GuardrailKeys, openGuardrails } from '../agent/rules/guardrails.ts'
import { type Bundle, writeBundle } from '../agent/stream/bundle.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import { type Clock, systemClock } from '../kernel/base/clock.ts'
import { throwProblems, validateConfig } from '../kernel/base/config.ts'
import type { FakeClock } from './fake-clock.ts'
import { type FakeEngine, fakeEngine } from './fake-engine.ts'
import { type LogLine, recordLog } from './record-log.ts'
import type { Teardown } from './scripted-agent.ts'
import { insertClient, type RunningServer } from './test-identities.ts'

export interface RunningAgentOptions {
  /** Agent halves that run in addition to all built-in ones. */
  readonly plugins?: readonly AgentPlugin[]
  /** `[plugins.<name>]` of the agent's configuration, by plugin. */
  readonly sections?: Readonly<Record<string, unknown>>
  /** Default: every port and target is allowed. */
  readonly guardrails?: Partial<GuardrailKeys>
  /** Connects to targets of rules without traffic, like an agent by default. Default: false. */
  readonly idleProbe?: boolean
}

export interface RunningAgent {
  readonly clientId: string
  readonly stateDir: string
  /** The engine of the current run. */
  readonly engine: FakeEngine
  /** All log lines, including those of earlier runs. */
  readonly log: readonly LogLine[]
  /** Resolves when the control stream is up. Each failed attempt advances the clock by 1.5 s. */
  connected(): Promise<void>
  /** Returns the result of `sluice agent status`. */
  status(): Promise<AgentStatus>
  /** Runs a command of an agent half, like `sluice agent <name>`, and returns its result. */
  ask<R extends object>(command: string, args?: Readonly<Record<string, unknown>>): Promise<R>
  /** Stops the agent like its second signal: at once. Unreported counts stay in its journal. */
  stop(): Promise<void>
  /** Starts the agent again from its state directory. Resolves when its saved rules are open, with or without a server. */
  restart(): Promise<void>
}

/** The server of the agent, with a clock that can skip the pause before a new attempt. */
export interface AgentServer extends RunningServer {
  readonly clock: Clock & Pick<FakeClock, 'advance'>
}

const maxDelayMs = 1500

/** Creates a client, and runs its agent. Resolves when it is connected. */
export async function openRunningAgent(
  t: Teardown,
  server: AgentServer,
  name: string,
  { plugins: given = [], sections = {}, guardrails = {}, idleProbe = false }: RunningAgentOptions = {}
): Promise<RunningAgent> {
  const clientId = await insertClient(server, name)
  const plugins = [...(await builtinHalves()), ...given]
  checkPlugins(plugins)
  const configs = configsOf(plugins, sections)
  const lines = new Lines()
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-agent-')) // short: socket paths are limited
  const bundleFile = join(stateDir, 'bundle.json')
  writeBundle(bundleFile, bundleOf(server, clientId, name))

  const start = starter(server, { plugins, configs, stateDir, bundleFile, guardrails, idleProbe, lines })
  const agent = new Run(start, lines, server.clock)
  t.teardown(async () => {
    try {
      await agent.stop()
    } finally {
      rmSync(stateDir, { recursive: true, force: true })
    }
  })
  await agent.start()
  await agent.connected()
  const ask = (command: string, args = {}) => askAgent(stateDir, { command, args }, systemClock)
  return {
    clientId,
    stateDir,
    log: lines.all,
    get engine() {
      return agent.engine
    },
    connected: () => agent.connected(),
    status: async () => (await ask('status')) as AgentStatus, // as the agent makes it
    ask: async (command, args) => (await ask(command, args)) as never, // as the half makes it
    stop: () => agent.stop(),
    async restart() {
      await agent.stop()
      await agent.start()
    }
  }
}

interface AgentParts extends Required<Pick<RunningAgentOptions, 'plugins' | 'guardrails' | 'idleProbe'>> {
  readonly configs: Readonly<Record<string, object>>
  readonly stateDir: string
  readonly bundleFile: string
  readonly lines: Lines
}

const starter =
  (
    { clock }: AgentServer,
    { plugins, configs, stateDir, bundleFile, guardrails, idleProbe, lines }: AgentParts
  ): Start =>
  (engine, stop, cut) =>
    runAgent(
      {
        plugins,
        configs,
        bundleFile,
        stateDir,
        engineName: 'fake',
        openEngine: engine.start,
        version: '2.0.0',
        bind: ['127.0.0.1'],
        idleProbe,
        clock,
        log: recordLog(lines.all, lines.added),
        resolver: { resolve: async () => ({ ok: true, addresses: ['127.0.0.1'] }) },
        guardrails: openGuardrails(
          { allow_ports: [], allow_targets: [], deny_targets: [], deny_local_ports: [], ...guardrails },
          []
        ),
        random: () => maxDelayMs / 30_000 // of the longest reconnect delay, see agent/stream/server-connection.ts
      },
      { stop, cut }
    )

const bundleOf = ({ server: { control } }: AgentServer, clientId: string, name: string): Bundle => ({
  version: 1,
  client_id: clientId,
  client_name: name,
  token: clientId,
  server_endpoint: `127.0.0.1:${control.port()}`,
  server_cert_sha256: control.fingerprint
})

const builtinHalves = (): Promise<AgentPlugin[]> =>
  Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))

function configsOf(plugins: readonly AgentPlugin[], sections: Readonly<Record<string, unknown>>) {
  const checked = plugins.map(({ name, config = Type.Object({}) }) => ({
    name,
    ...validateConfig(config, sections[name], `plugins.${name}`)
  }))
  throwProblems(checked.flatMap(({ problems }) => problems))
  return Object.fromEntries(checked.map(({ name, value }) => [name, value]))
}

/** Collects log lines, and waits for the next one. */
class Lines {
  readonly all: LogLine[] = []
  #next = Promise.withResolvers<void>()

  readonly added = (): void => {
    this.#next.resolve()
    this.#next = Promise.withResolvers<void>()
  }

  next(): Promise<void> {
    return this.#next.promise
  }

  /** Returns the events of lines after the first `after`. */
  events(after: number): readonly string[] {
    return this.all.slice(after).map(({ event }) => event)
  }
}

type Start = (engine: FakeEngine, stop: AbortSignal, cut: AbortSignal) => Promise<unknown>

/** One agent, started and stopped any number of times. */
class Run {
  engine = fakeEngine()
  readonly #start: Start
  readonly #lines: Lines
  readonly #clock: AgentServer['clock']
  #stop = new AbortController()
  #cut = new AbortController()
  #ended: Promise<unknown> | null = null
  #startedAt = 0 // lines before this run

  constructor(start: Start, lines: Lines, clock: AgentServer['clock']) {
    this.#start = start
    this.#lines = lines
    this.#clock = clock
  }

  async start(): Promise<void> {
    this.engine = fakeEngine()
    this.#stop = new AbortController()
    this.#cut = new AbortController()
    this.#startedAt = this.#lines.all.length
    this.#ended = this.#start(this.engine, this.#stop.signal, this.#cut.signal)
    await this.#until(() => this.#events().some(event => /^control\.(connected|unreachable)$/.test(event)))
  }

  connected(): Promise<void> {
    return this.#until(() => this.#isConnected())
  }

  async stop(): Promise<void> {
    const ended = this.#ended
    if (!ended) return
    this.#ended = null
    this.#stop.abort()
    this.#cut.abort() // an orderly stop would wait for the server, which waits for the clock
    await ended
  }

  #events(): readonly string[] {
    return this.#lines.events(this.#startedAt)
  }

  #isConnected(): boolean {
    return this.#lastStreamEvent() === 'control.connected'
  }

  #lastStreamEvent(): string {
    return (
      this.#events().findLast(event => /^control\.(connected|disconnected|unreachable)$/.test(event)) ?? ''
    )
  }

  /** Rejects when the agent fails. */
  async #until(holds: () => boolean): Promise<void> {
    const ended = this.#ended?.then(() => {
      throw new Error('the agent has stopped')
    })
    ended?.catch(() => {}) // it may end when nobody awaits it
    while (!holds()) {
      const next = this.#lines.next()
      if (/^control\.(unreachable|disconnected)$/.test(this.#lastStreamEvent()))
        await this.#clock.advance(maxDelayMs) // to the next attempt
      if (!holds()) await Promise.race([next, ended])
    }
  }
}
